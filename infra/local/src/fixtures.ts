import { test as base, inject, type ProvidedContext } from 'vitest';
import './provided-context.ts';
import { LocalServiceError } from './errors.ts';
import { startRedis } from './redis.ts';
import { cloneTemplate } from './test-database.ts';

export type { TestDatabase } from './test-database.ts';

/**
 * `test` with infrastructure; each fixture is made only when a test names it.
 *
 * - `database`: one clone of the migrated template per test file.
 * - `freshDatabase`: one clone per test.
 * - `redis`: a redis-server of its own per test file, with `kill()` and `restart()`; `REDIS_URL` is not used, because
 *   files that run side by side would share its keys and a killed Redis must be nobody else's.
 * - `redisUrl`: the URL of that server.
 */
export const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names a fixture needs from this very pattern.
  .extend('database', { scope: 'file' }, async ({}, { onCleanup }) => {
    const { database, drop } = await cloneMigrated();
    onCleanup(drop);
    return database;
  })
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names a fixture needs from this very pattern.
  .extend('freshDatabase', async ({}, { onCleanup }) => {
    const { database, drop } = await cloneMigrated();
    onCleanup(drop);
    return database;
  })
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names a fixture needs from this very pattern.
  .extend('redis', { scope: 'file' }, async ({}, { onCleanup }) => {
    const redis = await startRedis({ only: 'private' });
    onCleanup(() => redis.stop());
    return redis;
  })
  .extend('redisUrl', { scope: 'file' }, async ({ redis }) => redis.url);

function cloneMigrated(): ReturnType<typeof cloneTemplate> {
  // The type says it is always there; a run without the global setup says otherwise.
  const provided: ProvidedContext['sendledger'] | undefined = inject('sendledger');
  if (provided === undefined) {
    throw new LocalServiceError('postgres', 'these tests need the global setup: run vitest from the root of the repo');
  }
  return cloneTemplate(provided.adminUrl, provided.template);
}
