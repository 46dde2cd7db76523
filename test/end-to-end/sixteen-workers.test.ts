import { rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

describe('sixteen worker processes on the same 10 000 rows (FC-03)', () => {
  test('claim each row once, and send one request a submission', { timeout: 900_000 }, async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    await furnish(database, { maxBatch: 10 });
    const url = urls(database);
    // A few texts, so that there are batches and single requests.
    for (let i = 0; i < 10; i++)
      await enqueueMany(database, 1_000, { from: i * 1_000, body: (n) => `Sale number ${n % 40}` });
    const small = { SENDLEDGER_DATABASE_POOL_SIZE: '3', SENDLEDGER_LOG_LEVEL: 'warn' };
    for (let i = 0; i < 8; i++) {
      startApp('claim', { ...small, DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '60000' });
      startApp('submit', {
        ...small,
        DATABASE_URL: url.submit,
        SMSGATEWAYCENTER_BASE_URL: sim.url,
        SENDLEDGER_REQUEST_DEADLINE_MS: '60000',
        SENDLEDGER_REQUEST_LEASE_MS: '70000',
        SENDLEDGER_SEND_BUDGET_MS: '20000',
      });
    }
    await until(async () => {
      const states = await statesOf(database);
      return (states.submitted ?? 0) + (states.unknown ?? 0) + (states.rejected ?? 0) === 10_000;
    });
    expect(await statesOf(database)).toEqual({ submitted: 10_000 });
    const [counts] = await rowsOf<{ submissions: number; requested: number; misfits: number; claimers: number }>(
      database.pool,
      `select count(*)::int as submissions, (count(*) filter (where s.state = 'accepted'))::int as requested,
         (count(*) filter (where s.state = 'accepted' and s.size <> (select count(*) from sendledger.outbound_message m
           where m.submission_id = s.id)))::int as misfits,
         count(distinct s.claimed_by)::int as claimers
       from sendledger.submission s`,
    );
    // None was given back either: a row that was claimed twice would have left a released submission.
    expect(counts?.misfits).toBe(0);
    expect(counts?.requested).toBe(counts?.submissions);
    expect(counts?.claimers).toBeGreaterThan(1);
    expect(sim.log.counts()).toMatchObject({ accepted: 10_000, duplicates: 0, requests: counts?.submissions });
    await sim.close();
  });
});
