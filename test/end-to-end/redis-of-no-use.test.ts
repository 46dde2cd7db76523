import { startGatewaySim } from '@sendledger/gateway-sim';
import { startRedis } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { Redis } from 'ioredis';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

/** Connected all the while, and grants nothing. */
const OF_NO_USE: Readonly<Record<string, (url: string, pid: number) => Promise<() => Promise<void>>>> = {
  'that hangs': async (_, pid) => {
    process.kill(pid, 'SIGSTOP');
    return async () => {
      process.kill(pid, 'SIGCONT');
    };
  },
  'that is full, and evicts nothing': async (url) => {
    const client = new Redis(url);
    await client.config('SET', 'maxmemory', '1');
    return async () => {
      await client.config('SET', 'maxmemory', '0');
      client.disconnect();
    };
  },
};

describe('a route with a rate, and a Redis of no use', () => {
  for (const [name, spoil] of Object.entries(OF_NO_USE))
    test(`${name}: each process keeps to its own share; then it is relied on again`, async ({
      freshDatabase: database,
    }) => {
      const redis = await startRedis({ only: 'private' });
      const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
      await furnish(database);
      await database.pool.query('update sendledger.route set rate_per_second = 50');
      const url = urls(database);
      const common = { REDIS_URL: redis.url, SMSGATEWAYCENTER_BASE_URL: sim.url };
      startApp('claim', { ...common, DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '300000' });
      const submit = startApp('submit', { ...common, DATABASE_URL: url.submit });
      await submit.saw((line) => line.event === 'limiter_mode' && line.limiter === 'redis');
      await enqueueMany(database, 20);
      await until(() => sim.log.counts().accepted === 20);

      const mend = await spoil(redis.url, redis.pid ?? 0);
      await enqueueMany(database, 20, { from: 100 });
      await until(() => sim.log.counts().accepted === 40);
      expect(submit.log.filter((line) => line.event === 'limiter_without_redis')).toHaveLength(1);
      // It may have begun before it was connected.
      const modes = () =>
        submit.log
          .filter((line) => line.event === 'limiter_mode')
          .map((line) => line.limiter)
          .join(' ')
          .replace(/^own /, '');
      expect(modes()).toBe('redis own');

      await mend();
      await until(() => modes() === 'redis own redis');
      await enqueueMany(database, 20, { from: 200 });
      await until(() => sim.log.counts().accepted === 60);
      expect(sim.log.counts().duplicates).toBe(0);
      await endAllApps();
      await sim.close();
      await redis.stop();
    });
});
