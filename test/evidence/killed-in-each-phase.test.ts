import { rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, statesOf, urls } from '../support/house.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

/** Claimed and submitting, the two phases between these, are in `end-to-end/a-worker-dies.test.ts`. */
describe('SIGKILL before the claim, and when the result is written (FC-18)', () => {
  test('before its claim: nothing is held, and the next worker takes the rows', async ({ freshDatabase: database }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    const url = urls(database);
    const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
    const claim = startApp('claim', { DATABASE_URL: url.claim });
    await claim.saw((line) => line.event === 'started');
    claim.signal('SIGSTOP');
    await enqueueMany(database, 20);
    claim.signal('SIGKILL');
    await claim.ended;
    expect(await statesOf(database)).toEqual({ pending: 20 });
    expect(await rowsOf(database.pool, 'select 1 from sendledger.submission')).toEqual([]);

    startApp('claim', { DATABASE_URL: url.claim });
    startApp('submit', { ...gateway, DATABASE_URL: url.submit });
    startApp('reconcile', { ...gateway, DATABASE_URL: url.reconcile });
    await until(async () => (await statesOf(database)).delivered === 20);
    expect(sim.log.counts()).toMatchObject({ requests: 20, accepted: 20, duplicates: 0 });
    await sim.close();
  });

  test('when the result is on disk and nobody has heard of it: it stands, and nothing is sent again', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    const proxy = await startPostgresProxy(database.url);
    await furnish(database);
    const url = urls(database);
    const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
    startApp('claim', { DATABASE_URL: url.claim });
    proxy.holdCommitAfter('set (state, responded_at');
    const submit = startApp('submit', { ...gateway, DATABASE_URL: proxy.through(url.submit) });
    await enqueueMany(database, 1);
    await proxy.held;
    submit.signal('SIGKILL');
    await submit.ended;
    expect(await statesOf(database)).toEqual({ submitted: 1 });

    startApp('submit', { ...gateway, DATABASE_URL: url.submit });
    startApp('reconcile', { ...gateway, DATABASE_URL: url.reconcile });
    await enqueueMany(database, 5, { from: 100 });
    await until(async () => (await statesOf(database)).delivered === 6);
    expect(sim.log.counts()).toMatchObject({ requests: 6, accepted: 6, duplicates: 0 });
    expect(
      await rowsOf(
        database.pool,
        'select sum(cost)::text as cost, max(attempt_count)::int as most from sendledger.outbound_message',
      ),
    ).toEqual([{ cost: sim.billed(), most: 1 }]);
    await proxy.close();
    await sim.close();
  });
});
