import type pg from 'pg';
import type { Sql } from './sql.ts';

/**
 * Durability is not assumed: a role default of `synchronous_commit = off` would let a mark vanish with the server while its
 * request is on the wire. Raised to `on`, and left alone where it is stronger.
 */
const BEGIN_DURABLE = `begin; select set_config('synchronous_commit',
  case when current_setting('synchronous_commit') in ('on', 'remote_apply') then current_setting('synchronous_commit') else 'on' end, true)`;

/**
 * Runs `work` in one short transaction that is on disk when this returns. No network call to anything but Postgres may be
 * made inside.
 */
export async function durably<T>(pool: pg.Pool, work: (sql: Sql) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(BEGIN_DURABLE);
    const result = await work(client);
    await client.query('commit');
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
    client.release(broken);
  }
}
