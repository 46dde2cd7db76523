import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { Redis } from 'ioredis';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, openRows, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

const FLUSHES = 20;
const BETWEEN = 20;
const MESSAGES = FLUSHES * BETWEEN + 50;

describe('FLUSHALL again and again under load (FC-21)', () => {
  test('after every twentieth message: nothing lost, nothing twice', { timeout: 900_000 }, async ({
    freshDatabase: database,
    redisUrl,
  }) => {
    const sim = await startGatewaySim({ latencyMs: { min: 1, max: 20 } });
    await furnish(database);
    const url = urls(database);
    const common = { REDIS_URL: redisUrl, SMSGATEWAYCENTER_BASE_URL: sim.url };
    const apps = [
      startApp('claim', { ...common, DATABASE_URL: url.claim }),
      startApp('submit', { ...common, DATABASE_URL: url.submit }),
      startApp('submit', { ...common, DATABASE_URL: url.submit }),
      startApp('reconcile', { ...common, DATABASE_URL: url.reconcile }),
    ];
    await Promise.all(apps.map((app) => app.saw((line) => line.event === 'started')));
    const client = new Redis(redisUrl);
    for (let flush = 1; flush <= FLUSHES; flush++) {
      await enqueueMany(database, BETWEEN, { from: flush * BETWEEN });
      await until(() => sim.log.counts().accepted >= (flush - 0.5) * BETWEEN);
      await client.flushall();
    }
    await enqueueMany(database, 50, { from: 10_000 });
    await until(async () => (await openRows(database)) === 0);
    expect(await statesOf(database)).toEqual({ delivered: MESSAGES });
    expect(sim.log.counts()).toMatchObject({ accepted: MESSAGES, duplicates: 0 });
    client.disconnect();
    for (const app of apps) app.signal('SIGTERM');
    expect(await Promise.all(apps.map((app) => app.ended))).toEqual([0, 0, 0, 0]);
    await sim.close();
  });

  test('a route at its limit does not go over it because its bucket was forgotten', async ({
    freshDatabase: database,
    redisUrl,
  }) => {
    const rate = 40;
    const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
    await furnish(database);
    await database.pool.query('update sendledger.route set rate_per_second = $1, burst_seconds = 1', [rate]);
    await enqueueMany(database, 400);
    const url = urls(database);
    const common = { REDIS_URL: redisUrl, SMSGATEWAYCENTER_BASE_URL: sim.url };
    // Nobody sweeps here: a claim that a slow fleet does not get to must not end.
    startApp('claim', { ...common, DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '300000' });
    for (let i = 0; i < 2; i++) startApp('submit', { ...common, DATABASE_URL: url.submit });
    const client = new Redis(redisUrl);
    for (let flush = 1; flush <= FLUSHES; flush++) {
      await until(() => sim.log.counts().accepted >= flush * 10);
      await client.flushall();
    }
    client.disconnect();
    await until(() => sim.log.counts().accepted >= FLUSHES * 10 + rate);
    const at = sim.log.accepted(0, 1_000).map((message) => Date.parse(message.acceptedAt));
    const within = (from: number) => at.filter((ms) => ms >= from && ms < from + 1_000).length;
    expect(Math.max(...at.map(within))).toBeLessThanOrEqual(2 * rate);
    expect(sim.log.counts().duplicates).toBe(0);
    await sim.close();
  });
});
