import { ledgerSummary, rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, openRows, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

describe('the fleet, each app a process with its own role', () => {
  test('takes messages from the transaction to delivered, and bills what the provider bills', async ({
    freshDatabase: database,
    redisUrl,
  }) => {
    const sim = await startGatewaySim({ deliveryMs: { min: 10, max: 100 } });
    await furnish(database, { maxBatch: 100 });
    const common = { REDIS_URL: redisUrl, SMSGATEWAYCENTER_BASE_URL: sim.url };
    const url = urls(database);
    const apps = [
      startApp('claim', { ...common, DATABASE_URL: url.claim }),
      startApp('submit', { ...common, DATABASE_URL: url.submit }),
      startApp('reconcile', { ...common, DATABASE_URL: url.reconcile }),
    ];
    await Promise.all(apps.map((app) => app.saw((line) => line.event === 'started')));
    await enqueueMany(database, 200);
    await enqueueMany(database, 50, { class: 'otp', from: 1_000, body: (i) => `Your code is ${100_000 + i}` });
    await enqueueMany(database, 300, { class: 'promotional', from: 2_000, body: () => 'Sale today' });
    await until(async () => (await openRows(database)) === 0);

    expect(await statesOf(database)).toEqual({ delivered: 550 });
    expect(sim.log.counts()).toMatchObject({ accepted: 550, duplicates: 0 });
    const { billed } = await ledgerSummary(database.pool, new Date(0));
    expect(billed).toEqual([{ currency: 'INR', cost: sim.log.counts().billed, units: '550', adjusted: '0.0000' }]);
    // Equal promotional texts shared requests; codes never did.
    expect(sim.log.counts().requests).toBeLessThan(550 - 200);

    for (const app of apps) app.signal('SIGTERM');
    expect(await Promise.all(apps.map((app) => app.ended))).toEqual([0, 0, 0]);
    const text = JSON.stringify(apps.map((app) => app.log));
    expect(text).not.toContain('Your code is');
    expect(text).not.toContain('demopassword');
    // A whole number: a provider's id of 19 digits may hold these by chance.
    expect(text).not.toMatch(/(?<!\d)9198\d{8}(?!\d)/);
    await sim.close();
  });

  test('a batch of 1000 with three numbers in invalidMobile: 997 delivered and billed, 3 rejected and unbilled', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim({ invalidMobile: /^919810000(007|500|999)$/ });
    await furnish(database, { maxBatch: 1_000 });
    const url = urls(database);
    const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
    await enqueueMany(database, 1_000, { body: () => 'Sale today' });
    startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_BATCH: '1000' });
    startApp('submit', { ...gateway, DATABASE_URL: url.submit });
    startApp('reconcile', { ...gateway, DATABASE_URL: url.reconcile });
    await until(async () => (await openRows(database)) === 0);

    expect(await statesOf(database)).toEqual({ delivered: 997, rejected: 3 });
    expect(sim.log.counts()).toMatchObject({ requests: 1, accepted: 997, duplicates: 0 });
    expect(
      await rowsOf(
        database.pool,
        `select state, count(*)::int as rows, count(cost)::int as billed, count(distinct provider_txn_id)::int as transactions
         from sendledger.outbound_message group by state order by state`,
      ),
    ).toEqual([
      { state: 'delivered', rows: 997, billed: 997, transactions: 1 },
      { state: 'rejected', rows: 3, billed: 0, transactions: 1 },
    ]);
    await sim.close();
  });

  test('two events with equal text to one number are two requests, batching or not', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    await furnish(database, { maxBatch: 100 });
    const url = urls(database);
    const text = 'Your order is ready';
    for (let event = 0; event < 2; event++) await enqueueMany(database, 1, { body: () => text });
    startApp('claim', { DATABASE_URL: url.claim });
    startApp('submit', { DATABASE_URL: url.submit, SMSGATEWAYCENTER_BASE_URL: sim.url });
    await until(async () => (await statesOf(database)).submitted === 2);
    expect(sim.log.counts()).toMatchObject({ requests: 2, accepted: 2 });
    expect(sim.log.copies('919810000000', text)).toBe(2);
    await sim.close();
  });
});
