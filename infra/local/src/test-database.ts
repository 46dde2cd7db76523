import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createDatabase, dropDatabase, urlFor } from './database.ts';

/** A migrated database that one test, or one test file, has to itself. */
export interface TestDatabase {
  readonly name: string;
  /** As the superuser. */
  readonly url: string;
  /** The same database in a session of `role`. */
  urlFor(role: string): string;
  /** As the superuser, at most ten connections. */
  readonly pool: pg.Pool;
}

const POOL_END_TIMEOUT_MS = 2_000;

/** Clones `template` and answers the clone together with what drops it again, open sessions or not. */
export async function cloneTemplate(
  adminUrl: string,
  template: string,
): Promise<{ database: TestDatabase; drop: () => Promise<void> }> {
  const name = `${template}_${randomBytes(6).toString('hex')}`;
  await createDatabase(adminUrl, name, { template });
  const url = urlFor(adminUrl, { database: name });
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  // The forced drop ends sessions that a test forgot; without listeners their errors would fail the next test.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return {
    database: { name, url, urlFor: (role) => urlFor(adminUrl, { database: name, role }), pool },
    async drop() {
      // A client that a test has not released would make end() wait for ever; the forced drop ends it.
      await Promise.race([pool.end(), timeout(POOL_END_TIMEOUT_MS)]);
      await dropDatabase(adminUrl, name);
    },
  };
}

function timeout(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
