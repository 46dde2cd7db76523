import { randomUUID } from 'node:crypto';
import { rowsOf, type Sql } from './sql.ts';

export interface WorkerIdentity {
  readonly id: string;
  readonly instance: string;
  readonly bootId: string;
}

/**
 * Registers this process. A newer boot of the same instance ends the older ones: whoever asks whether a request may still be
 * open learns that its holder is gone.
 */
export async function registerWorker(sql: Sql, app: string, instance: string): Promise<WorkerIdentity> {
  const bootId = randomUUID();
  const [row] = await rowsOf<{ id: string }>(
    sql,
    `insert into sendledger.worker (instance, boot_id, app) values ($1, $2, $3) returning id`,
    [instance, bootId, app],
  );
  if (row === undefined) throw new Error('insert into worker returned no row');
  await sql.query(
    `update sendledger.worker set ended_at = now() where instance = $1 and app = $2 and id < $3 and ended_at is null`,
    [instance, app, row.id],
  );
  return { id: row.id, instance, bootId };
}

/** Who gives a sign of life has not ended, whatever another process of the same instance name thought. */
export async function beatWorker(sql: Sql, workerId: string): Promise<void> {
  await sql.query('update sendledger.worker set last_seen_at = now(), ended_at = null where id = $1', [workerId]);
}

/**
 * The age of what a process holds is read before it waits for a connection, and the statement's `now()` is the time after: what it
 * holds is as much older. A minute is longer than any such wait; being taken to hold a request for a minute too long costs only time.
 */
const READ_BEFORE_MS = 60_000;

/**
 * A sign of life that says what the process holds: the age of the oldest request that may still be on the wire, marks that are
 * under way included; null: none. In ages, and by the database's clock, since the two clocks may differ.
 */
export async function beatWithHoldings(sql: Sql, workerId: string, oldestMs: number | null): Promise<void> {
  await sql.query(
    `update sendledger.worker set last_seen_at = now(), ended_at = null, holds_said_at = now(), holds_from = now() - ($2::double precision + ${READ_BEFORE_MS}) * interval '1 ms'
     where id = $1`,
    [workerId, oldestMs],
  );
}

/** The process says that it holds no open request any more. */
export async function endWorker(sql: Sql, workerId: string): Promise<void> {
  await sql.query(
    'update sendledger.worker set ended_at = now(), last_seen_at = now() where id = $1 and ended_at is null',
    [workerId],
  );
}

/** How long a process that gives no sign of life still counts as one that may send. */
const ALIVE_MS = 20_000;

export interface LimiterFleetRow {
  /** Submit processes that may send, this one included. */
  readonly processes: number;
  /** Of those, the ones that take their tokens from Redis. */
  readonly onRedis: number;
  /** Place of this process among the others, by id, from 0; null where it takes from Redis. */
  readonly place: number | null;
}

/**
 * Says which bucket this process takes its tokens from, and answers how the fleet looks after that. On disk before it counts: what
 * the others reckon with must not vanish.
 */
export async function reportLimiter(sql: Sql, workerId: string, limiter: 'redis' | 'own'): Promise<LimiterFleetRow> {
  await sql.query('update sendledger.worker set limiter = $2, last_seen_at = now() where id = $1', [workerId, limiter]);
  const [row] = await rowsOf<LimiterFleetRow>(
    sql,
    `select count(*)::integer as processes, (count(*) filter (where w.limiter = 'redis'))::integer as "onRedis",
       case when $3 = 'own' then (count(*) filter (where w.limiter is distinct from 'redis' and w.id < $1))::integer end as place
     from sendledger.worker w
     where w.app = 'submit' and w.ended_at is null and (w.last_seen_at > now() - $2 * interval '1 ms' or w.id = $1)`,
    [workerId, ALIVE_MS, limiter],
  );
  return row ?? { processes: 1, onRedis: 0, place: 0 };
}

export interface SharedInstance {
  readonly app: string;
  readonly instance: string;
  /** Processes that were declared ended by a newer one of their name, and gave a sign of life after that. */
  readonly overlapping: number;
}

/**
 * Names that several living processes of an app used at once within the last day. A new process of a name declares the others
 * ended, so that one of them that still sends may be taken for gone.
 */
export async function sharedInstances(sql: Sql): Promise<SharedInstance[]> {
  return rowsOf<SharedInstance>(
    sql,
    `select w.app, w.instance, count(*)::integer as overlapping
     from sendledger.worker w
     where w.last_seen_at > now() - interval '1 day'
       and exists (select from sendledger.worker n
         where n.app = w.app and n.instance = w.instance and n.id > w.id and n.started_at < w.last_seen_at)
     group by w.app, w.instance order by w.app, w.instance`,
  );
}
