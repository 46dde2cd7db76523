import { rowsOf, type Sql } from './sql.ts';

export interface AliveWorkers {
  readonly app: string;
  readonly alive: number;
  /** The latest sign of life of any process of this app, ended or not. */
  readonly lastSeenAt: Date;
}

/** Every app that ever registered a process, and how many of them gave a sign of life within `withinMs`. */
export async function aliveWorkers(sql: Sql, withinMs: number): Promise<AliveWorkers[]> {
  return rowsOf<AliveWorkers>(
    sql,
    `select w.app, max(w.last_seen_at) as "lastSeenAt",
       (count(*) filter (where w.ended_at is null and w.last_seen_at > now() - $1 * interval '1 ms'))::integer as alive
     from sendledger.worker w group by w.app order by w.app`,
    [withinMs],
  );
}
