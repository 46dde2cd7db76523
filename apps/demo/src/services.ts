import { randomBytes } from 'node:crypto';
import { createDatabase, dropDatabase, findRedis, startPostgres, urlFor } from '@sendledger/local';
import type { Cleanup } from './cleanup.ts';

/** The servers a run works with. */
export interface Services {
  /** The run's own database, as the login that made it. */
  readonly databaseUrl: string;
  /** Whether the server is the user's. Then nothing outside our database may be touched. */
  readonly givenServer: boolean;
  readonly postgres: string;
  /** Null: no Redis anywhere. The workers poll, and keep every promise. */
  readonly redisUrl: string | null;
  readonly redis: string;
}

/** Finds or starts Postgres and Redis, and makes a database of this run's own. All of it is taken away by `cleanup`. */
export async function startServices(cleanup: Cleanup): Promise<Services> {
  // Both are waited for, so that one that fails does not leave the other running.
  const [postgres, redis] = await Promise.allSettled([startPostgres(), findRedis()]);
  if (postgres.status === 'fulfilled') cleanup.add('stop Postgres', () => postgres.value.stop());
  if (redis.status === 'fulfilled' && redis.value !== null) {
    const found = redis.value;
    cleanup.add('stop Redis', () => found.stop());
  }
  if (postgres.status === 'rejected') throw postgres.reason;
  if (redis.status === 'rejected') throw redis.reason;

  const server = postgres.value;
  const name = `sendledger_demo_${randomBytes(4).toString('hex')}`;
  await createDatabase(server.url, name);
  const givenServer = server.source === 'environment';
  // A server of our own goes as a whole, and faster.
  if (givenServer) cleanup.add(`drop database ${name}`, () => dropDatabase(server.url, name));
  return {
    databaseUrl: urlFor(server.url, { database: name }),
    givenServer,
    postgres: { environment: 'from DATABASE_URL', embedded: 'embedded', docker: 'in Docker' }[server.source],
    redisUrl: redis.value?.url ?? null,
    redis:
      redis.value === null
        ? 'none found'
        : { environment: 'from REDIS_URL', server: 'redis-server', docker: 'in Docker' }[redis.value.source],
  };
}
