import { rowsOf } from '@sendledger/core/ledger';
import type { GatewaySim } from '@sendledger/gateway-sim';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { startRedis } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

const accepted = (sim: GatewaySim) => sim.log.accepted(0, 100_000);

describe('a route whose rate counts recipients', () => {
  for (const withRedis of [true, false])
    test(`${withRedis ? 'with' : 'without'} Redis, four workers: batches are as large as there can be tokens for, and leave; never over the limit`, async ({
      freshDatabase: database,
    }) => {
      const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
      const redis = withRedis ? await startRedis({ only: 'private' }) : undefined;
      await furnish(database, { maxBatch: 500 });
      await database.pool.query(
        `update sendledger.route set rate_per_second = 20, rate_unit = 'recipients', burst_seconds = 1`,
      );
      const url = urls(database);
      const common = redis === undefined ? {} : { REDIS_URL: redis.url };
      startApp('claim', { ...common, DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '300000' });
      for (let n = 0; n < 4; n++)
        startApp('submit', { ...common, DATABASE_URL: url.submit, SMSGATEWAYCENTER_BASE_URL: sim.url });
      await enqueueMany(database, 100, { class: 'promotional', body: () => 'One text for all' });
      await until(() => sim.log.counts().accepted === 100);
      const sizes = await rowsOf<{ size: number }>(
        database.pool,
        `select max(size) as size from sendledger.submission where state = 'accepted'`,
      );
      // Three quarters of a bucket of ten: the rest is left to codes.
      expect(sizes).toEqual([{ size: 7 }]);
      const at = accepted(sim).map((message) => Date.parse(`${message.acceptedAt}`));
      for (const from of at)
        expect(at.filter((time) => time >= from && time < from + 1_000).length).toBeLessThanOrEqual(40);
      await endAllApps();
      await redis?.stop();
      await sim.close();
    });
});

describe('two classes on a route that has too little for both', () => {
  test('transactional goes before promotional, whatever waited first', async ({ freshDatabase: database }) => {
    const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
    await furnish(database);
    await database.pool.query('update sendledger.route set rate_per_second = 40, burst_seconds = 1');
    const url = urls(database);
    startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '300000' });
    startApp('submit', { DATABASE_URL: url.submit, SMSGATEWAYCENTER_BASE_URL: sim.url });
    await enqueueMany(database, 1_000, { class: 'promotional' });
    await until(() => sim.log.counts().accepted >= 40);
    await enqueueMany(database, 120, { class: 'transactional', from: 50_000_000 });
    const urgent = (mobile: string) => mobile.startsWith('91986');
    await until(() => accepted(sim).filter((message) => urgent(message.mobile)).length === 120);
    const order = accepted(sim).map((message) => urgent(message.mobile));
    const first = order.indexOf(true);
    const last = order.lastIndexOf(true);
    // What was marked when they came, and what a round found while none of them was claimed.
    expect(order.slice(first, last).filter((one) => !one).length).toBeLessThanOrEqual(30);
    await endAllApps();
    await sim.close();
  });
});
