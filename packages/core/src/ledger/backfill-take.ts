import { randomUUID } from 'node:crypto';
import { rowsOf, type Sql } from './sql.ts';

/** A day that this worker owns for as long as its lease lasts. */
export interface BackfillDay {
  readonly id: string;
  readonly runId: string;
  readonly provider: string;
  readonly account: string;
  readonly routeId: string;
  readonly zone: string;
  /** `YYYY-MM-DD` in that zone. */
  readonly day: string;
  /** `waiting`: to be read. `stored`: read by somebody, and to be applied. */
  readonly state: 'waiting' | 'stored';
  /** Reads begun, the one that begins now included. */
  readonly tries: number;
  readonly token: string;
}

export interface TakeBackfill {
  readonly workerId: string;
  readonly leaseMs: number;
  /** `provider/account`, of those this process has an adapter for. */
  readonly accounts: readonly string[];
}

/**
 * Takes one day under a lease: one that somebody left in the middle first, then what is stored, then the oldest day of the oldest run.
 * An account has one reader at a time over all runs, and no more reads a minute than the least of its routes allows; a read counts when it
 * begins, whatever becomes of it. A lease whose worker has ended is as good as over.
 */
export async function takeBackfillDay(sql: Sql, take: TakeBackfill): Promise<BackfillDay | null> {
  const token = randomUUID();
  try {
    const [day] = await rowsOf<Omit<BackfillDay, 'token'>>(
      sql,
      `with next as (
         select c.id from sendledger.job_checkpoint c
         where c.state in ('waiting', 'stored') and c.next_at <= now() and c.provider || '/' || c.account = any ($1::text[])
           and (c.lease_token is null or c.lease_until < now() or c.worker_id = $2
             or exists (select from sendledger.worker w where w.id = c.worker_id and w.ended_at is not null))
           and not exists (select from sendledger.job_checkpoint o
             where o.provider = c.provider and o.account = c.account and o.lease_token is not null and o.id <> c.id)
           and (c.state = 'stored' or not exists (select from sendledger.job_checkpoint p
             where p.provider = c.provider and p.account = c.account
               and p.asked_at > now() - (select interval '1 minute' / min(r.reads_per_minute)::double precision from sendledger.route r
                 where r.provider = c.provider and r.account = c.account and r.retired_at is null)))
         order by c.lease_token is null, c.state = 'waiting', c.run_id, c.day, c.id limit 1
         for update of c skip locked
       )
       update sendledger.job_checkpoint c
       set lease_token = $3, lease_until = now() + $4 * interval '1 ms', worker_id = $2,
         tries = c.tries + (c.state = 'waiting')::integer, asked_at = case when c.state = 'waiting' then now() else c.asked_at end
       from next n, sendledger.route r
       where c.id = n.id and r.id = c.route_id and c.state in ('waiting', 'stored')
       returning c.id, c.run_id as "runId", c.provider, c.account, c.route_id as "routeId", r.provider_zone as zone, c.day::text as day, c.state, c.tries`,
      [take.accounts, take.workerId, token, take.leaseMs],
    );
    return day === undefined ? null : { ...day, token };
  } catch (error) {
    // Somebody else took a day of this account in the same moment.
    if (isSecondReader(error)) return null;
    throw error;
  }
}

function isSecondReader(error: unknown): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === 'job_checkpoint_one_reader';
}
