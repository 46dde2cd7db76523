import { randomBytes } from 'node:crypto';
import { migrate } from '@sendledger/core/schema';
import { createDatabase, dropDatabase, type LocalRedis, startPostgres, startRedis, urlFor } from '@sendledger/local';
import pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { COUNTS_STATEMENTS, keepStatements } from './statements.ts';

export const ENVIRONMENT = 'bench';

export interface Services {
  /** Makes a migrated database of its own: each measurement begins with an empty one. */
  database(): Promise<Database>;
  readonly redis: LocalRedis;
}

export interface Database {
  /** As the login that made it. */
  readonly pool: pg.Pool;
  /** As the login that made it. */
  readonly url: string;
  urlFor(role: string): string;
}

/**
 * Finds or starts Postgres and Redis.
 *
 * @param redis `private`: a server of our own, which may be killed
 * @param options where profiles are wanted, the statements that took longest are written there too
 * @param settings of a Postgres that is started here; a given one keeps its own
 */
export async function startServices(
  cleanup: Cleanup,
  redis: 'any' | 'private',
  options: { readonly profile: string | null },
  settings: Record<string, string> = {},
): Promise<Services> {
  const postgres = await startPostgres({
    settings: { ...settings, ...(options.profile === null ? {} : COUNTS_STATEMENTS) },
  });
  cleanup.add('stop Postgres', () => postgres.stop());
  // Undone just before the server stops, when all has been measured.
  if (options.profile !== null) await keepStatements(postgres, options.profile, cleanup);
  const found = await startRedis(redis === 'private' ? { only: 'private' } : {});
  cleanup.add('stop Redis', () => found.stop());
  return {
    redis: found,
    database: async () => {
      const name = `sendledger_bench_${randomBytes(4).toString('hex')}`;
      await createDatabase(postgres.url, name);
      if (postgres.source === 'environment')
        cleanup.add(`drop database ${name}`, () => dropDatabase(postgres.url, name));
      const url = urlFor(postgres.url, { database: name });
      await migrate(url, ENVIRONMENT);
      const pool = new pg.Pool({ connectionString: url, max: 4 });
      pool.on('error', () => undefined);
      cleanup.add('close connections', () => pool.end());
      return { pool, url, urlFor: (role) => urlFor(postgres.url, { database: name, role }) };
    },
  };
}
