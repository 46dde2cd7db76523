import type { GatewaySim } from '@sendledger/gateway-sim';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { startRedis, type TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { type AppProcess, endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

const RATE = 50;
const BURST_SECONDS = 1;
const BURST = RATE * BURST_SECONDS;

/** When the provider accepted each message, ms. */
const acceptedAt = (sim: GatewaySim) =>
  sim.log.accepted(0, 1_000_000).map((message) => Date.parse(`${message.acceptedAt}`));

/** The most messages that the provider took within any second, by its own clock. */
function busiestSecond(at: readonly number[]): number {
  let most = 0;
  for (let from = 0, to = 0; from < at.length; from++) {
    while (to < at.length && (at[to] ?? 0) < (at[from] ?? 0) + 1_000) to++;
    most = Math.max(most, to - from);
  }
  return most;
}

async function fleet(
  database: TestDatabase,
  sim: GatewaySim,
  redis: readonly (string | undefined)[],
): Promise<AppProcess[]> {
  const url = urls(database);
  // Nobody sweeps here: a claim that a slow fleet does not get to must not end.
  startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '300000' });
  return redis.map((redisUrl) =>
    startApp('submit', {
      DATABASE_URL: url.submit,
      SMSGATEWAYCENTER_BASE_URL: sim.url,
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    }),
  );
}

describe('a route at fifty requests a second, four submit workers', () => {
  test('is never crossed; then Redis stops, and it is still never crossed', async ({ freshDatabase: database }) => {
    const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
    const redis = await startRedis({ only: 'private' });
    await furnish(database);
    await database.pool.query('update sendledger.route set rate_per_second = $1, burst_seconds = $2', [
      RATE,
      BURST_SECONDS,
    ]);
    await enqueueMany(database, 3_000);
    const workers = await fleet(database, sim, [redis.url, redis.url, redis.url, redis.url]);
    await until(() => sim.log.counts().accepted >= RATE * 12);
    expect(busiestSecond(acceptedAt(sim))).toBeLessThanOrEqual(RATE + BURST);
    // How nearly it is filled is measured by `npm run bench -- rate`.

    await redis.stop();
    await Promise.all(
      workers.map((worker) => worker.saw((line) => line.event === 'limiter_mode' && line.limiter === 'own')),
    );
    const before = sim.log.counts().accepted;
    await until(() => sim.log.counts().accepted >= before + RATE * 6);
    const all = acceptedAt(sim);
    expect(busiestSecond(all)).toBeLessThanOrEqual(RATE + BURST);
    expect(sim.log.counts().duplicates).toBe(0);
    await sim.close();
  });

  test('half of them without Redis: the sum is never more', async ({ freshDatabase: database }) => {
    const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
    const redis = await startRedis({ only: 'private' });
    await furnish(database);
    await database.pool.query('update sendledger.route set rate_per_second = $1, burst_seconds = $2', [
      RATE,
      BURST_SECONDS,
    ]);
    await enqueueMany(database, 1_000);
    await fleet(database, sim, [redis.url, undefined, redis.url, undefined]);
    await until(() => sim.log.counts().accepted >= RATE * 8);
    const at = acceptedAt(sim);
    expect(busiestSecond(at)).toBeLessThanOrEqual(RATE + BURST);
    await redis.stop();
    await sim.close();
  });
});
