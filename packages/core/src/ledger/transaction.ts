import { ARMED, at } from '@sendledger/core/points';
import type pg from 'pg';
import { SendledgerError } from '../domain/errors.ts';
import { prepared } from './prepared.ts';
import type { Sql } from './sql.ts';

/**
 * Durability is not assumed: a role default of `synchronous_commit = off` would let a mark vanish with the server while its
 * request is on the wire. Raised to `on`, and left alone where it is stronger. JIT is off: over a dozen partitions the planner
 * finds our short statements dear enough to compile, which takes longer than they run.
 */
const BEGIN_DURABLE = `begin; select set_config('synchronous_commit',
  case when current_setting('synchronous_commit') in ('on', 'remote_apply') then current_setting('synchronous_commit') else 'on' end, true), set_config('jit', 'off', true)`;

type Work<T> = (sql: Sql) => Promise<T>;

/**
 * Runs `work` in one short transaction that is on disk when this returns. No network call to anything but Postgres may be
 * made inside. With a name, before and after its commit are points of the pipeline.
 */
export async function durably<T>(
  pool: pg.Pool,
  ...named: readonly [work: Work<T>] | readonly [name: string, work: Work<T>]
): Promise<T> {
  const [name, work] = named.length === 2 ? named : [null, named[0]];
  const client = await pool.connect();
  let broken: Error | undefined;
  // A pool listens to its idle clients only: the loss of this connection would be an unhandled event and end the process.
  const lost = (error: Error) => {
    broken = error;
  };
  client.on('error', lost);
  try {
    await client.query(BEGIN_DURABLE);
    const result = await work(prepared(client));
    if (name !== null) await at(`${name}: before commit`, client);
    const { command } = await client.query('commit');
    // A statement of `work` failed and its error was swallowed: the server answers COMMIT with a rollback, and no error.
    if (command !== 'COMMIT')
      throw new SendledgerError('SENDLEDGER_COMMIT_ROLLED_BACK', `COMMIT was answered ${command}.`);
    if (name !== null) await at(`${name}: after commit`, client);
    return result;
  } catch (error) {
    try {
      await client.query('rollback');
    } catch (cause) {
      // The connection is gone and the transaction with it; the pool must not hand it out again.
      broken = cause instanceof Error ? cause : new Error(String(cause));
    }
    throw error;
  } finally {
    // The listener stays on a broken client: its socket may report more after this.
    if (broken === undefined) client.off('error', lost);
    client.release(broken);
  }
}

/**
 * Runs `work`, which is one statement and makes itself durable, as a transaction of its own: what it locks is held for as long as the
 * server needs, and not until this process, which may be busy, has said `commit`. Where points are armed there has to be something
 * before the commit, so there it is what {@link durably} makes of it.
 */
export function atOnce<T>(pool: pg.Pool, name: string, work: Work<T>): Promise<T> {
  return ARMED ? durably(pool, name, work) : work(prepared(pool));
}
