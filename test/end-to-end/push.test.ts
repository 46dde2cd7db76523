import { rowsOf } from '@sendledger/core/ledger';
import { type GatewaySim, type GatewaySimOptions, startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect, onTestFinished } from 'vitest';
import { type AppProcess, endAllApps, startApp } from '../support/app-process.ts';
import { finalStates } from '../support/final-states.ts';
import { enqueueMany, furnish, openRows, statesOf, urls } from '../support/house.ts';
import { LONG_CLAIM_LEASE, PUSH_SECRET, pushUrlOf, TAKES_PUSHES } from '../support/push-endpoint.ts';
import { until } from '../support/settled.ts';
import { startSilentListener } from '../support/silent-listener.ts';

afterEach(endAllApps);

/** The first report is not read by itself in any test's time. */
const NO_FIRST_REPORT = { SENDLEDGER_FIRST_REPORT_MS: '3600000' };

async function simulator(options: Partial<GatewaySimOptions>): Promise<GatewaySim> {
  const sim = await startGatewaySim(options);
  onTestFinished(() => sim.close());
  return sim;
}

function startFleet(database: TestDatabase, sim: GatewaySim, submit = {}, reconcile = {}): AppProcess {
  const url = urls(database);
  const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
  startApp('claim', { DATABASE_URL: url.claim });
  startApp('submit', { ...gateway, ...submit, DATABASE_URL: url.submit });
  return startApp('reconcile', { ...gateway, ...TAKES_PUSHES, ...reconcile, DATABASE_URL: url.reconcile });
}

/** The value of a series by its name and labels, as Prometheus would read it. */
async function metric(app: AppProcess, series: RegExp): Promise<number | undefined> {
  const { health } = await app.saw((line) => line.event === 'started');
  const text = await (await fetch(`${String(health)}/metrics`)).text();
  const line = text.split('\n').find((l) => series.test(l));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
}

describe('receipts that are pushed', () => {
  /** FC-24 */
  test('the push comes before our own reply: it waits, and the row ends delivered with its facts', async ({
    freshDatabase: database,
  }) => {
    const sim = await simulator({});
    await furnish(database);
    sim.faults.next('hold');
    const reconcile = startFleet(database, sim, NO_FIRST_REPORT);
    sim.push.to(await pushUrlOf(reconcile));
    await enqueueMany(database, 1);
    await sim.faults.untilHeld(1);
    await sim.push.settled();
    expect(sim.push.counts()).toMatchObject({ delivered: 1, failed: 0 });
    expect(await statesOf(database)).toEqual({ claimed: 1 });
    // It matches nothing yet, since the transaction is in the reply that is held.
    await until(
      async () => (await rowsOf(database.pool, 'select 1 from sendledger.delivery_receipt where looks > 0')).length,
    );
    expect(await statesOf(database)).toEqual({ claimed: 1 });
    sim.faults.release();
    await until(async () => (await statesOf(database)).delivered === 1);
    const { transactionId } = sim.log.accepted({ mobile: '919810000000' })[0] ?? {};
    expect(
      await rowsOf(
        database.pool,
        `select m.provider_txn_id as txn, m.cost, m.attempt_count as tries, s.state::text as submission, m.submitted_at <= m.reconciled_at as in_order
         from sendledger.outbound_message m join sendledger.submission s on s.id = m.submission_id`,
      ),
    ).toEqual([{ txn: transactionId, cost: '0.1200', tries: 1, submission: 'accepted', in_order: true }]);
    expect(sim.log.counts()).toMatchObject({ accepted: 1, duplicates: 0 });
  });

  test('repeated and shuffled ones: every row ends as the provider says, and no line holds the secret', async ({
    freshDatabase: database,
  }) => {
    const sim = await simulator({
      failMobile: /7$/,
      deliveryMs: { min: 20, max: 200 },
      pushDuplicate: 0.3,
      pushShuffleMs: 200,
      pushRetryMs: 50,
    });
    await furnish(database);
    const reconcile = startFleet(database, sim, NO_FIRST_REPORT, { SENDLEDGER_LOG_LEVEL: 'trace' });
    const url = await pushUrlOf(reconcile);
    sim.push.to(url);
    await enqueueMany(database, 100);
    // A person's portal tries the address, a scanner guesses, and a push says nothing that can be read.
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(`${url}x`)).status).toBe(404);
    expect((await fetch(url, { method: 'POST', body: `code=482913&${'x'.repeat(100_000)}` })).status).toBe(413);
    await until(async () => (await openRows(database)) === 0);
    expect(await statesOf(database)).toEqual({ delivered: 90, failed: 10 });
    expect(sim.log.counts()).toMatchObject({ accepted: 100, duplicates: 0 });
    await sim.push.settled();
    expect(sim.push.counts().delivered).toBeGreaterThan(100);
    const [kept] = await rowsOf<{ n: number }>(
      database.pool,
      `select count(*)::int as n from sendledger.delivery_receipt where source = 'push' and hint`,
    );
    expect(kept?.n).toBe(100);

    reconcile.signal('SIGTERM');
    expect(await reconcile.ended).toBe(0);
    const everything = JSON.stringify(reconcile.log) + reconcile.stderr;
    expect(everything).toContain('push_unreadable');
    for (const never of [PUSH_SECRET, '482913', 'x'.repeat(20)]) expect(everything).not.toContain(never);
  });

  /** FC-33 */
  test('the address leads nowhere: by polling every row ends as it does where pushes arrive, and the ages tell which it is', async ({
    database,
    freshDatabase,
  }) => {
    const behaviour: Partial<GatewaySimOptions> = { failMobile: /[37]$/, deliveryMs: { min: 20, max: 300 }, seed: 7 };
    const run = async (there: TestDatabase, url: (app: AppProcess) => Promise<string>) => {
      const sim = await simulator(behaviour);
      await furnish(there);
      const reconcile = startFleet(there, sim, {});
      const ops = startApp('ops', { DATABASE_URL: urls(there).ops });
      sim.push.to(await url(reconcile));
      await enqueueMany(there, 60);
      await until(async () => (await openRows(there)) === 0);
      return { ops, states: await finalStates(there) };
    };
    const age = (source: string) => new RegExp(`^sendledger_receipt_age_seconds\\{.*source="${source}"`);
    const pushed = await run(database, pushUrlOf);
    await until(async () => ((await metric(pushed.ops, age('push'))) ?? 3_600) < 3_600);
    await endAllApps();
    const blackHole = await startSilentListener('http');
    onTestFinished(() => blackHole.close());
    const polled = await run(freshDatabase, async () => `${blackHole.url}/dlr`);
    expect(blackHole.connections).toBeGreaterThan(0);
    expect(polled.states).toEqual(pushed.states);
    expect(new Set(Object.values(polled.states))).toEqual(new Set(['delivered 0.1200', 'failed 0.1200']));
    await until(async () => ((await metric(polled.ops, age('poll'))) ?? 3_600) < 3_600);
    expect(await metric(polled.ops, age('push'))).toBe(3_600);
  });

  test('what was pushed while nobody listened is asked for at the next start', async ({ freshDatabase: database }) => {
    const sim = await simulator({});
    await furnish(database);
    const url = urls(database);
    startApp('claim', { ...LONG_CLAIM_LEASE, DATABASE_URL: url.claim });
    startApp('submit', { ...NO_FIRST_REPORT, DATABASE_URL: url.submit, SMSGATEWAYCENTER_BASE_URL: sim.url });
    await enqueueMany(database, 20);
    await until(async () => (await statesOf(database)).submitted === 20);
    const reconcile = { DATABASE_URL: url.reconcile, SMSGATEWAYCENTER_BASE_URL: sim.url };
    startApp('reconcile', { ...reconcile, ...TAKES_PUSHES });
    await until(async () => (await statesOf(database)).delivered === 20);
  });
});

/** FC-51 */
describe('a word that nobody has mapped', () => {
  test('is mapped by a person and a restart: what was stored is judged anew, without the provider', async ({
    freshDatabase: database,
  }) => {
    const sim = await simulator({});
    sim.delivery.override(/./, { status: 'PARKED AT SMSC', cause: '' });
    await furnish(database);
    const reconcile = startFleet(database, sim);
    await enqueueMany(database, 5);
    const waiting = () =>
      rowsOf<{ word: string; status: string }>(
        database.pool,
        'select status_word as word, status from sendledger.delivery_receipt order by id',
      );
    await until(async () => (await waiting()).length === 5);
    await until(
      async () => (await rowsOf(database.pool, 'select 1 from sendledger.delivery_receipt where looks > 0')).length,
    );
    expect(await statesOf(database)).toEqual({ submitted: 5 });
    const items = () =>
      rowsOf<{ subject: string; by: string | null }>(
        database.pool,
        `select subject, resolved_by as by from sendledger.review_item where kind = 'unmapped_status'`,
      );
    expect(await items()).toEqual([{ subject: 'smsgatewaycenter PARKED AT SMSC', by: null }]);
    expect(await metric(reconcile, /^sendledger_unmapped_receipts_total/)).toBeGreaterThanOrEqual(5);
    reconcile.signal('SIGTERM');
    expect(await reconcile.ended).toBe(0);

    sim.faults.outage = 'http-500';
    startApp('reconcile', {
      DATABASE_URL: urls(database).reconcile,
      SMSGATEWAYCENTER_BASE_URL: sim.url,
      SMSGATEWAYCENTER_STATUS_WORDS: 'Parked at SMSC=failed',
    });
    await until(async () => (await statesOf(database)).failed === 5);
    expect(await waiting()).toEqual(Array(5).fill({ word: 'PARKED AT SMSC', status: 'failed' }));
    await until(async () => (await items())[0]?.by === 'sendledger');
    expect(await items()).toHaveLength(1);
  });
});

describe('the settings of the push endpoint', () => {
  for (const secret of ['', 'short', 'x'.repeat(31), `${'x'.repeat(40)}/`, `${'x'.repeat(40)} hunter2`])
    test(`a port without a good secret (${secret.length} characters) is refused, and the secret is not shown`, async ({
      database,
    }) => {
      const app = startApp('reconcile', {
        DATABASE_URL: database.urlFor('sendledger_reconcile'),
        SENDLEDGER_PUSH_PORT: '0',
        SENDLEDGER_PUSH_SECRET: secret,
      });
      expect(await app.ended).toBe(1);
      expect(app.log).toEqual([]);
      expect(app.stderr).toMatch(
        /^SENDLEDGER_CONFIG: .*SENDLEDGER_PUSH_SECRET must be at least 32 characters[^\n]*\n$/,
      );
      if (secret !== '') expect(app.stderr).not.toContain(secret);
    });
});
