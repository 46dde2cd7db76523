import { rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

describe('a campaign whose replies do not come', () => {
  test('holds no more than its part of the places on the wire, over all workers: a code leaves (FC-42)', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    await database.pool.query('update sendledger.route set max_in_flight_requests = 16, otp_reserve = 0.25');
    sim.faults.forNumber(/^91981/, 'hold');
    const url = urls(database);
    startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '300000' });
    // Each could hold them all.
    for (let n = 0; n < 2; n++) startApp('submit', { DATABASE_URL: url.submit, SMSGATEWAYCENTER_BASE_URL: sim.url });
    await enqueueMany(database, 100, { class: 'promotional' });
    await until(() => sim.faults.held >= 12);
    await enqueueMany(database, 3, { class: 'otp', from: 50_000_000 });
    await until(async () => {
      const left = await rowsOf(
        database.pool,
        `select 1 from sendledger.outbound_message where message_class = 'otp' and state in ('pending', 'claimed')`,
      );
      return left.length === 0;
    });
    // The campaign has its twelve, and not one more.
    expect(sim.faults.held).toBe(12);
    sim.faults.release();
    await endAllApps();
    await sim.close();
  });
});
