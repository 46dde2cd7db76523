import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { Redis } from 'ioredis';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, openRows, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

describe('Redis carries hints and nothing else', () => {
  test('flushed, then killed in the middle of a run, then back: nothing lost, nothing twice', async ({
    freshDatabase: database,
    redis,
  }) => {
    const sim = await startGatewaySim({ latencyMs: { min: 1, max: 20 } });
    await furnish(database);
    const url = urls(database);
    const common = { REDIS_URL: redis.url, SMSGATEWAYCENTER_BASE_URL: sim.url };
    const apps = [
      startApp('claim', { ...common, DATABASE_URL: url.claim }),
      startApp('submit', { ...common, DATABASE_URL: url.submit }),
      startApp('reconcile', { ...common, DATABASE_URL: url.reconcile }),
    ];
    await Promise.all(apps.map((app) => app.saw((line) => line.event === 'started')));
    await enqueueMany(database, 300);
    await until(() => sim.log.counts().accepted > 50);
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    await until(() => sim.log.counts().accepted > 150);
    await redis.kill();
    await Promise.all(apps.map((app) => app.saw((line) => line.event === 'redis_down')));
    await enqueueMany(database, 200, { from: 1_000 });
    await until(async () => (await openRows(database)) === 0);
    expect(await statesOf(database)).toEqual({ delivered: 500 });

    const ready = await fetch(`${String((await apps[0]?.saw((l) => l.event === 'started'))?.health)}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ status: 'degraded' });

    await redis.restart();
    await enqueueMany(database, 100, { from: 2_000 });
    await until(async () => (await openRows(database)) === 0);
    expect(await statesOf(database)).toEqual({ delivered: 600 });
    expect(sim.log.counts()).toMatchObject({ accepted: 600, duplicates: 0 });
    for (const app of apps) app.signal('SIGTERM');
    expect(await Promise.all(apps.map((app) => app.ended))).toEqual([0, 0, 0]);
    await sim.close();
  });
});
