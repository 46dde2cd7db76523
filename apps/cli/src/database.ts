import pg from 'pg';
import { databaseFailure } from './failure.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** Opens a pool for one command and closes it, whatever happens; errors of the database come out readable. */
export async function withDatabase<T>(databaseUrl: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: 'sendledger cli',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    max: 2,
  });
  // A connection that breaks while idle shows in the next statement; unheard it would end the process.
  pool.on('error', () => undefined);
  try {
    return await work(pool);
  } catch (error) {
    throw databaseFailure(error);
  } finally {
    await pool.end();
  }
}
