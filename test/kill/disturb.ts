import { Redis } from 'ioredis';
import type { PostgresState, RedisState } from './cells.ts';
import type { Fleet } from './fleet.ts';
import { rows } from './ledger.ts';

/** What happens to Redis while a process stands at its point. Down it is from the start of the cell. */
export async function disturbRedis(fleet: Fleet, state: RedisState): Promise<number> {
  if (state === 'flushed') {
    const client = new Redis(fleet.redis.url);
    client.on('error', () => undefined);
    await client.flushall();
    client.disconnect();
  } else if (state === 'restarted') await fleet.redis.restart();
  return state === 'up' ? 0 : 1;
}

/** What happens to Postgres while a process stands at its point. Resolves when the server takes connections again. */
export async function disturbPostgres(fleet: Fleet, state: PostgresState): Promise<number> {
  const { postgres, pool } = fleet;
  if (state === 'restarted') {
    await postgres.crash();
    await postgres.restart();
  } else if (state === 'restored') await fleet.restoreCopy();
  else if (state === 'cut')
    await rows(
      pool,
      `select pg_terminate_backend(a.pid) from pg_stat_activity a
       where a.datname = current_database() and a.application_name like 'sendledger %'`,
    );
  return state === 'up' ? 0 : 1;
}
