import { rowsOf } from '@sendledger/core/ledger';
import { type GatewaySim, startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

/** Requests are given up early, so that a provider that hangs costs seconds and not minutes. */
const IMPATIENT = {
  SENDLEDGER_REQUEST_DEADLINE_MS: '2000',
  SENDLEDGER_LEASE_MARGIN_MS: '20000',
  SENDLEDGER_REQUEST_LEASE_MS: '25000',
  SENDLEDGER_SEND_BUDGET_MS: '1500',
};

async function fleet(database: TestDatabase, sim: GatewaySim, environment: Record<string, string> = {}) {
  const url = urls(database);
  const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url, SENDLEDGER_RETRY_BASE_MS: '200', ...environment };
  startApp('claim', { DATABASE_URL: url.claim });
  for (let i = 0; i < 2; i++) startApp('submit', { ...gateway, DATABASE_URL: url.submit });
  startApp('reconcile', { ...gateway, DATABASE_URL: url.reconcile });
}

/** Probes follow each other as they would in production, six hundred times as fast. */
const quickProbes = (database: TestDatabase) =>
  database.pool.query('update sendledger.route set probe_first_ms = 50, probe_longest_ms = 500');

async function route(database: TestDatabase) {
  const [row] = await rowsOf<{ state: string; probes: number; reason: string | null }>(
    database.pool,
    'select breaker_state as state, probes, breaker_reason as reason from sendledger.route',
  );
  if (row === undefined) throw new Error('no route');
  return row;
}

const attempts = async (database: TestDatabase) =>
  rowsOf<{ attempts: number; messages: number; late: number }>(
    database.pool,
    `select attempt_count as attempts, count(*)::integer as messages,
       count(*) filter (where submitted_at > submit_by)::integer as late
     from sendledger.outbound_message group by 1 order by 1`,
  );

describe('a provider in trouble', () => {
  test('hangs on everything, ten thousand messages due: unknown are at most 37 requests and one a probe', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    sim.faults.share({ 'hang-before-accept': 1 });
    await furnish(database);
    await quickProbes(database);
    await enqueueMany(database, 10_000);
    await fleet(database, sim, IMPATIENT);
    await until(async () => {
      const { state, probes } = await route(database);
      return state === 'open' && probes >= 3;
    });
    const { probes } = await route(database);
    const states = await statesOf(database);
    expect(states.unknown).toBeLessThanOrEqual(37 + probes);
    expect(sim.log.counts().requests).toBeLessThanOrEqual(37 + probes + 1);
    expect(states.rejected).toBeUndefined();
    expect((states.pending ?? 0) + (states.claimed ?? 0) + (states.unknown ?? 0)).toBe(10_000);
    sim.faults.clear();
    await sim.close();
  });

  test('refuses connections for an hour, six hundred times as fast: nothing rejected, no attempt used, all sent in time', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
    await sim.faults.closePort();
    await furnish(database);
    await quickProbes(database);
    await enqueueMany(database, 300);
    await fleet(database, sim);
    // An hour of pauses from five seconds to five minutes is fifteen probes.
    await until(async () => (await route(database)).probes >= 15);
    const during = await statesOf(database);
    expect((during.pending ?? 0) + (during.retry ?? 0) + (during.claimed ?? 0)).toBe(300);
    expect((await attempts(database)).map((row) => row.attempts)).toEqual([0]);
    await sim.faults.openPort();
    await until(async () => (await statesOf(database)).submitted === 300);
    expect(await route(database)).toMatchObject({ state: 'closed' });
    expect(await attempts(database)).toEqual([{ attempts: 1, messages: 300, late: 0 }]);
    expect(sim.log.counts()).toMatchObject({ accepted: 300, duplicates: 0 });
    await sim.close();
  });

  test('knows the password no more: nothing is rejected, one message asks at a time, and all go when it is right again', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
    sim.account.breakCredentials(true);
    await furnish(database);
    await quickProbes(database);
    await enqueueMany(database, 200);
    await fleet(database, sim);
    await until(async () => {
      const { state, probes, reason } = await route(database);
      return state === 'open' && probes >= 4 && reason?.startsWith('the free call');
    });
    const during = await statesOf(database);
    expect(during.rejected ?? 0).toBe(0);
    expect(during.unknown ?? 0).toBe(0);
    expect((await attempts(database)).map((row) => row.attempts)).toEqual([0]);
    sim.account.breakCredentials(false);
    await until(async () => (await statesOf(database)).submitted === 200);
    expect(await route(database)).toMatchObject({ state: 'closed', reason: null });
    expect(sim.log.counts()).toMatchObject({ accepted: 200, duplicates: 0 });
    await sim.close();
  });
});
