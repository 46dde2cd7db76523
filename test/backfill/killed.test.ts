import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { rowsOf } from '@sendledger/core/ledger';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect, onTestFinished } from 'vitest';
import { shuffled } from '../kill/dice.ts';
import { Orders } from '../kill/orders.ts';
import { BACKFILL_POINTS } from '../kill/points.ts';
import { endAllApps, startApp, startProgram } from '../support/app-process.ts';
import { finalStates } from '../support/final-states.ts';
import { statesOf, urls } from '../support/house.ts';
import { receiptsOf } from '../support/past-messages.ts';
import { until } from '../support/settled.ts';
import { runOver, statusOf, type World, worldOf } from './world.ts';

afterEach(endAllApps);

const LONG_MS = 120_000;
const READ_ONCE = fileURLToPath(new URL('programs/read-once.ts', import.meta.url));

/** Its own, and the commits of receipts, which it shares. */
const POINTS = [
  ...BACKFILL_POINTS,
  'receipts stored: before commit',
  'receipts stored: after commit',
  'receipts applied: before commit',
  'receipts applied: after commit',
];

const environment = ({ database, sim }: World) => ({
  SMSGATEWAYCENTER_BASE_URL: sim.url,
  DATABASE_URL: urls(database).backfill,
  SENDLEDGER_INSTANCE: 'backfill-0',
});

async function openOrders(): Promise<Orders> {
  const orders = await Orders.open();
  onTestFinished(() => orders.close());
  return orders;
}

/** FC-16 */
describe('a worker that is killed at random points, at each of them once', () => {
  test('does every day, and the sum of the final states is the number of recipients', { timeout: LONG_MS }, async ({
    freshDatabase,
  }) => {
    const world = await worldOf(freshDatabase, { days: 14, perDay: 2, sim: { failMobile: /1$/ } });
    const run = await runOver(world);
    const orders = await openOrders();
    const seed = randomInt(1_000_000);
    const order = shuffled(POINTS, seed, (point) => point);
    for (const point of order) {
      const given = await orders.give(point);
      const doomed = startApp('backfill', environment(world), orders.folder);
      const arrived = await orders.arrival(given, performance.now() + 60_000);
      expect(arrived, `seed ${seed}, ${point}`).toMatchObject({ pid: doomed.pid });
      doomed.signal('SIGKILL');
      await doomed.ended;
      // Nowhere does it say that a run is over which is not.
      expect((await statusOf(world, run)).state, `seed ${seed}, ${point}`).toBe('running');
    }
    const last = startApp('backfill', environment(world), orders.folder);
    await until(async () => (await statusOf(world, run)).state === 'complete');
    last.signal('SIGTERM');
    expect(await last.ended).toBe(0);

    expect(await statesOf(freshDatabase), `seed ${seed}`).toEqual({ delivered: 14, failed: 14 });
    expect(await statusOf(world, run), `seed ${seed}`).toMatchObject({
      days: { applied: 14 },
      ...{ rows: '28', receipts: '28', fresh: '28', applied: '28', orphans: '0' },
    });
    expect(world.sim.calls().dayReport).toBeLessThanOrEqual(14 + POINTS.length);
    expect(await receiptsOf(freshDatabase)).toHaveLength(28);
  });
});

const openOf = async ({ pool }: TestDatabase, day: string) =>
  rowsOf<{ recipient: string; state: string; due: boolean }>(
    pool,
    `select m.recipient, m.state::text, coalesce(s.poll_at <= now(), false) as due
     from sendledger.outbound_message m join sendledger.submission s on s.id = m.submission_id
     where (m.requested_at at time zone 'Asia/Kolkata')::date = $1::date order by m.recipient`,
    [day],
  );

/** FC-32 */
describe('a provider that gives each report once, and a worker that is killed between the fetch and the commit', () => {
  test('loses the report and no message: what it showed is asked for by id at once, and what is never reported ends by its deadline', {
    timeout: LONG_MS,
  }, async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 3, perDay: 3 });
    const { sim, days } = world;
    sim.dayReports.once = true;
    // One of the first day is never reported as final, by whatever report.
    const [stuck] = world.sends;
    sim.delivery.stuck(stuck?.recipient ?? '');
    const run = await runOver(world);
    const orders = await openOrders();
    const given = await orders.give('backfill: day fetched');
    const doomed = startProgram(READ_ONCE, environment(world), orders.folder);
    expect(await orders.arrival(given, performance.now() + 60_000)).toMatchObject({ pid: doomed.pid });
    doomed.signal('SIGKILL');
    await doomed.ended;

    const next = startProgram(READ_ONCE, environment(world));
    await until(async () => (await statusOf(world, run)).state === 'complete');
    next.signal('SIGTERM');
    expect(await next.ended).toBe(0);
    // The first day came empty the second time; its rows are still open, and their reports by id are due now.
    const [first] = (await statusOf(world, run)).checkpoints;
    expect(first).toMatchObject({ day: days[0], state: 'applied', tries: 2, rows: '0' });
    expect((await openOf(freshDatabase, days[0] ?? '')).map(({ state, due }) => [state, due])).toEqual([
      ['submitted', true],
      ['submitted', true],
      ['submitted', true],
    ]);
    // Of the others nothing was lost, and nothing is asked.
    for (const { state, due } of await openOf(freshDatabase, days[1] ?? ''))
      expect([state, due]).toEqual(['delivered', false]);

    // What is never final: its waiting is over.
    await freshDatabase.pool.query(
      `update sendledger.outbound_message set receipt_by = now() - interval '25 hours' where recipient = $1`,
      [stuck?.recipient],
    );
    const reconcile = startApp('reconcile', {
      SMSGATEWAYCENTER_BASE_URL: sim.url,
      DATABASE_URL: urls(freshDatabase).reconcile,
    });
    await until(async () => (await statesOf(freshDatabase)).submitted === undefined);
    reconcile.signal('SIGTERM');
    expect(await reconcile.ended).toBe(0);
    const ends = Object.entries(await finalStates(freshDatabase));
    for (const [recipient, said] of ends)
      expect(said).toBe(recipient === stuck?.recipient ? 'expired 0.1200' : 'delivered 0.1200');
    expect(ends).toHaveLength(9);
    // Nothing was read twice that could not be: one call for each day, and one for the one that was lost.
    expect(sim.calls().dayReport).toBe(4);
  });
});
