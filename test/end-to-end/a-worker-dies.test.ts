import { rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, SHORT_LEASE, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, openRows, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

/** What a worker that is killed leaves behind, by the phase it died in. */
describe('a worker that is killed (FC-03, FC-11, FC-18)', () => {
  test('between mark and reply leaves unknown, the report tells what became of it, and nothing is sent again', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    const url = urls(database);
    const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
    const claim = startApp('claim', { DATABASE_URL: url.claim });
    sim.faults.next('hold', 5);
    const submit = startApp('submit', { ...SHORT_LEASE, ...gateway, DATABASE_URL: url.submit });
    await enqueueMany(database, 5);
    // All five were accepted and their replies are held: the rows are claimed, their submissions marked.
    await sim.faults.untilHeld(5);
    submit.signal('SIGKILL');
    await submit.ended;

    startApp('submit', { ...gateway, DATABASE_URL: url.submit });
    const reconcile = startApp('reconcile', { ...gateway, DATABASE_URL: url.reconcile });
    // Unknown for as long as it takes to find them in the provider's report.
    await until(() => reconcile.log.filter((line) => line.event === 'lease_lost').length === 5);
    // The restarted worker does send: what it does not send is what was marked before.
    await enqueueMany(database, 3, { from: 100 });
    await until(async () => (await statesOf(database)).delivered === 8);

    expect(sim.log.counts()).toMatchObject({ accepted: 8, duplicates: 0 });
    expect(
      await rowsOf(
        database.pool,
        `select state, outcome_reason, count(*)::int as n from sendledger.submission group by 1, 2 order by 2`,
      ),
    ).toEqual([
      { state: 'accepted', outcome_reason: 'accepted', n: 3 },
      { state: 'accepted', outcome_reason: 'receipt', n: 5 },
    ]);
    claim.signal('SIGKILL');
    await sim.close();
  });

  test('after a claim was committed leaves rows that come back by themselves', async ({ freshDatabase: database }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    const url = urls(database);
    const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
    const claim = startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '1000' });
    await enqueueMany(database, 40);
    await until(async () => (await statesOf(database)).claimed === 40);
    claim.signal('SIGKILL');
    await claim.ended;

    // Nobody submits yet: the leases run out, the rows are pending again, and a new claimer takes them.
    const reconcile = startApp('reconcile', { ...gateway, DATABASE_URL: url.reconcile });
    await until(async () => (await statesOf(database)).pending === 40);
    startApp('claim', { DATABASE_URL: url.claim });
    startApp('submit', { ...gateway, DATABASE_URL: url.submit });
    await until(async () => (await openRows(database)) === 0);

    expect(await statesOf(database)).toEqual({ delivered: 40 });
    expect(sim.log.counts()).toMatchObject({ accepted: 40, duplicates: 0 });
    expect(
      await rowsOf(database.pool, 'select max(attempt_count)::int as most from sendledger.outbound_message'),
    ).toEqual([{ most: 1 }]);
    reconcile.signal('SIGTERM');
    expect(await reconcile.ended).toBe(0);
    await sim.close();
  });

  test('by SIGTERM lets requests in flight finish and gives back what was never marked', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    const url = urls(database);
    sim.faults.next('hold', 2);
    const submit = startApp('submit', {
      SMSGATEWAYCENTER_BASE_URL: sim.url,
      DATABASE_URL: url.submit,
      SENDLEDGER_SUBMIT_CONCURRENCY: '2',
      SENDLEDGER_REQUEST_DEADLINE_MS: '20000',
      SENDLEDGER_REQUEST_LEASE_MS: '30000',
    });
    const claim = startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '60000' });
    await enqueueMany(database, 10, { class: 'otp' });
    await sim.faults.untilHeld(2);
    await until(async () => (await statesOf(database)).claimed === 10);
    submit.signal('SIGTERM');
    await submit.saw((line) => line.event === 'stopping');
    claim.signal('SIGTERM');
    expect(await claim.ended).toBe(0);
    expect(await statesOf(database)).toEqual({ claimed: 2, pending: 8 });
    sim.faults.release();
    expect(await submit.ended).toBe(0);
    expect(await statesOf(database)).toEqual({ submitted: 2, pending: 8 });
    expect(
      await rowsOf(database.pool, 'select count(*)::int as n from sendledger.worker where ended_at is null'),
    ).toEqual([{ n: 0 }]);
    await sim.close();
  });
});
