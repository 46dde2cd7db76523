import { rowsOf } from '@sendledger/core/ledger';
import { type GatewaySim, startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { type AppProcess, endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

/** Requests are given up early, so that one that hangs costs seconds; their leases still outlive a busy machine. */
const IMPATIENT = {
  SENDLEDGER_REQUEST_DEADLINE_MS: '3000',
  SENDLEDGER_LEASE_MARGIN_MS: '5000',
  SENDLEDGER_REQUEST_LEASE_MS: '8000',
  SENDLEDGER_SEND_BUDGET_MS: '2000',
};

/** Starts the fleet, and answers its reconcile. */
async function fleet(database: TestDatabase, sim: GatewaySim, submitters: number): Promise<AppProcess> {
  // A breaker that opens at the tail, where what hangs is all that is left, asks again soon.
  await database.pool.query('update sendledger.route set probe_first_ms = 50, probe_longest_ms = 500');
  const url = urls(database);
  const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
  startApp('claim', { DATABASE_URL: url.claim });
  for (let i = 0; i < submitters; i++)
    startApp('submit', { ...gateway, ...IMPATIENT, DATABASE_URL: url.submit, SENDLEDGER_LOG_LEVEL: 'warn' });
  return startApp('reconcile', { ...gateway, DATABASE_URL: url.reconcile });
}

interface Totals {
  readonly cost: string;
  readonly most: number;
  readonly matched: number;
}

async function totals(database: TestDatabase): Promise<Totals> {
  const [row] = await rowsOf<Totals>(
    database.pool,
    `select coalesce(sum(cost), 0)::numeric(12,4)::text as cost, max(attempt_count)::int as most,
       (count(*) filter (where correlation_result = 'matched'))::int as matched
     from sendledger.outbound_message`,
  );
  if (row === undefined) throw new Error('no totals');
  return row;
}

const failures = (database: TestDatabase) =>
  rowsOf<{ reason: string; cost: string | null; successor: string | null }>(
    database.pool,
    `select m.state_reason as reason, m.cost::text as cost,
       (select string_agg(n.state::text, ' ') from sendledger.outbound_message n where n.replaces_id = m.id) as successor
     from sendledger.outbound_message m where m.state = 'failed'`,
  );

describe('a provider that accepts and does not answer (FC-01)', () => {
  test('one in a hundred of 10 000 requests: no second copy, each found in the report, and our bill is its bill', {
    timeout: 900_000,
  }, async ({ freshDatabase: database }) => {
    const sim = await startGatewaySim();
    sim.faults.share({ 'accept-then-hang': 0.01 });
    await furnish(database);
    for (let i = 0; i < 10; i++) await enqueueMany(database, 1_000, { from: i * 1_000 });
    await fleet(database, sim, 2);
    await until(async () => (await statesOf(database)).delivered === 10_000);

    expect(await statesOf(database)).toEqual({ delivered: 10_000 });
    expect(sim.log.counts()).toMatchObject({ requests: 10_000, accepted: 10_000, duplicates: 0 });
    const { cost, most, matched } = await totals(database);
    expect(cost).toBe(sim.billed());
    expect(cost).toBe('1200.0000');
    expect(most).toBe(1);
    // As many as hung, and they were unknown before.
    expect(matched).toBeGreaterThan(50);
    expect(await rowsOf(database.pool, 'select kind from sendledger.review_item where resolved_at is null')).toEqual(
      [],
    );
    await sim.close();
  });
});

describe('a provider that hangs before it accepts', () => {
  const HUNG = 4;

  /** Some that are known to be accepted, then some that hang. */
  async function someHang(database: TestDatabase, sim: GatewaySim, known: 'delivered' | 'submitted') {
    await furnish(database);
    await database.pool.query(`update sendledger.lane set settle_within = '1 second'`);
    await enqueueMany(database, 150);
    const reconcile = await fleet(database, sim, 1);
    await until(async () => (await statesOf(database))[known] === 150);
    sim.faults.next('hang-before-accept', HUNG);
    await enqueueMany(database, HUNG, { from: 1_000 });
    await until(async () => (await statesOf(database)).unknown === HUNG);
    return reconcile;
  }

  /** Resolves when each of those that hang was looked for and stood in doubt for these reasons alone. */
  async function allDoubted(reconcile: AppProcess, reasons: readonly string[]): Promise<void> {
    await until(
      () =>
        new Set(
          reconcile.log
            .filter((line) => line.event === 'resolved' && JSON.stringify(line.doubts) === JSON.stringify(reasons))
            .map((line) => line.attempt_key),
        ).size === HUNG,
    );
  }

  test('absence is proven once sends known accepted stand around it in the report, and the successors are delivered', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    const reconcile = await someHang(database, sim, 'delivered');
    // Everything else is as it must be, the word of the worker that it holds nothing included: they still stay unknown.
    await allDoubted(reconcile, ['nothing_known_after']);
    expect(await statesOf(database)).toEqual({ delivered: 150, unknown: HUNG });

    await enqueueMany(database, 146, { from: 2_000 });
    await until(async () => {
      const states = await statesOf(database);
      return states.failed === HUNG && states.delivered === 296 + HUNG;
    });
    expect(await failures(database)).toEqual(
      Array.from({ length: HUNG }, () => ({ reason: 'proven_not_submitted', cost: null, successor: 'delivered' })),
    );
    expect(sim.log.counts()).toMatchObject({ requests: 300 + HUNG, accepted: 300, duplicates: 0 });
    expect((await totals(database)).cost).toBe(sim.billed());
    await sim.close();
  });

  test('a report that lags proves nothing: they stay unknown', async ({ freshDatabase: database }) => {
    const sim = await startGatewaySim({ visibilityLagMs: 3_600_000 });
    const reconcile = await someHang(database, sim, 'submitted');
    await enqueueMany(database, 20, { from: 2_000 });
    await allDoubted(reconcile, ['known_missing', 'clock_unknown']);
    expect(await statesOf(database)).toEqual({ submitted: 170, unknown: HUNG });
    expect(
      await rowsOf(database.pool, 'select 1 from sendledger.outbound_message where replaces_id is not null'),
    ).toEqual([]);
    expect(sim.log.counts()).toMatchObject({ accepted: 170, duplicates: 0 });
    await sim.close();
  });
});
