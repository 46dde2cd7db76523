import { rowsOf } from '@sendledger/core/ledger';
import { type GatewaySim, startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

/** What the simulator's 429 says, ms. */
const RETRY_AFTER_MS = 1_000;

function fleet(database: TestDatabase, sim: GatewaySim) {
  const url = urls(database);
  const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url, SENDLEDGER_RETRY_BASE_MS: '200' };
  startApp('claim', { DATABASE_URL: url.claim });
  for (let i = 0; i < 2; i++) startApp('submit', { ...gateway, DATABASE_URL: url.submit });
  return startApp('reconcile', { ...gateway, DATABASE_URL: url.reconcile });
}

const attempts = (database: TestDatabase) =>
  rowsOf<{ attempts: number; messages: number }>(
    database.pool,
    'select attempt_count as attempts, count(*)::integer as messages from sendledger.outbound_message group by 1 order by 1',
  );

const route = async (database: TestDatabase) =>
  (
    await rowsOf(
      database.pool,
      `select breaker_state as breaker, breaker_failures as failures, probes, throttled_until is not null as throttled
       from sendledger.route`,
    )
  )[0];

const CALM = { breaker: 'closed', failures: 0, probes: 0, throttled: true };

describe('429 is no failure (FC-41)', () => {
  test('the route waits as long as it was told, no try is used up, the breaker stays closed, all is delivered once', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    sim.faults.next('throttle-429', 3);
    await furnish(database);
    await enqueueMany(database, 80);
    fleet(database, sim);
    await until(async () => (await statesOf(database)).delivered === 80);
    expect(sim.log.counts()).toMatchObject({ accepted: 80, duplicates: 0, refused: 3 });
    expect(await attempts(database)).toEqual([{ attempts: 1, messages: 80 }]);
    expect(await route(database)).toEqual(CALM);

    const [marks] = await rowsOf<{ throttled: number; meanwhile: number; after: number }>(
      database.pool,
      `select (count(*) filter (where s.outcome_reason = 'refused_throttled'))::integer as throttled,
         (count(*) filter (where s.requested_at > r.throttled_until - $1 * interval '1 ms' + interval '1 ms'
           and s.requested_at < r.throttled_until - interval '1 ms'))::integer as meanwhile,
         (count(*) filter (where s.requested_at >= r.throttled_until - interval '1 ms'))::integer as after
       from sendledger.submission s cross join sendledger.route r`,
      [RETRY_AFTER_MS],
    );
    expect(marks).toMatchObject({ throttled: 3, meanwhile: 0 });
    expect(marks?.after).toBeGreaterThan(0);
    await sim.close();
  });
});

describe('over the limit is not stuck for ever (FC-22)', () => {
  test('rows wait with a time and a reason; whose deadline passes expires and is counted; the others leave when it is over', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    sim.faults.share({ 'throttle-429': 1 });
    await furnish(database);
    await enqueueMany(database, 40);
    const reconcile = fleet(database, sim);
    const throttledRows = async () =>
      rowsOf<{ id: string; waits: boolean }>(
        database.pool,
        `select id, due_at > updated_at as waits from sendledger.outbound_message
         where state = 'retry' and state_reason = 'refused_throttled'`,
      );
    const waiting = await until(async () => {
      const rows = await throttledRows();
      return rows.length >= 3 ? rows : undefined;
    });
    expect(waiting.map(({ waits }) => waits)).toEqual(waiting.map(() => true));
    expect(await attempts(database)).toEqual([{ attempts: 0, messages: 40 }]);
    expect(await route(database)).toEqual(CALM);

    // Meanwhile the deadline of one of them comes.
    const late = await until(async () => {
      const { rows } = await database.pool.query<{ id: string }>(
        `update sendledger.outbound_message set submit_by = now() where state = 'retry' and id = $1 returning id`,
        [(await throttledRows())[0]?.id],
      );
      return rows[0]?.id;
    });
    await until(async () => (await statesOf(database)).expired === 1);
    const [expired] = await rowsOf(
      database.pool,
      'select state, state_reason as reason, attempt_count as attempts, cost from sendledger.outbound_message where id = $1',
      [late],
    );
    expect(expired).toEqual({ state: 'expired', reason: 'refused_throttled', attempts: 0, cost: null });
    const { health } = await reconcile.saw((line) => line.event === 'started');
    const metrics = await (await fetch(`${String(health)}/metrics`)).text();
    expect(metrics).toMatch(/^sendledger_swept_messages_total\{.*sweep="expired".*\} 1$/m);

    sim.faults.clear();
    await until(async () => (await statesOf(database)).delivered === 39);
    expect(await statesOf(database)).toEqual({ delivered: 39, expired: 1 });
    expect(sim.log.counts()).toMatchObject({ accepted: 39, duplicates: 0 });
    await sim.close();
  });

  test('no row can be without the time at which it is looked at next', async ({ freshDatabase: database }) => {
    await furnish(database);
    await enqueueMany(database, 1);
    for (const column of ['due_at', 'submit_by'])
      await expect(
        database.pool.query(`update sendledger.outbound_message set ${column} = null`),
      ).rejects.toMatchObject({ code: '23502' });
  });
});
