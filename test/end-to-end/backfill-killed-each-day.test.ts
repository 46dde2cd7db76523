import { backfillAccounts, backfillRun, startBackfill } from '@sendledger/core/ledger';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { Orders } from '../kill/orders.ts';
import { endAllApps, startApp } from '../support/app-process.ts';
import { finalStates } from '../support/final-states.ts';
import { furnish, urls } from '../support/house.ts';
import { importPast, type PastSend, pastDays, receiptsOf, simulatorWithPast } from '../support/past-messages.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

const DAYS = 30;
const A_DAY = 3;
const LONG_MS = 300_000;

async function begun(database: TestDatabase, sends: readonly PastSend[], days: readonly string[]): Promise<string> {
  const routeId = await furnish(database, { readsPerMinute: 'none' });
  await importPast(database, routeId, sends);
  const accounts = await backfillAccounts(database.pool);
  const { id, checkpoints } = await startBackfill(database.pool, {
    from: days[0] ?? '',
    to: days.at(-1) ?? '',
    accounts,
    who: 'test',
  });
  expect(checkpoints).toBe(DAYS);
  return id;
}

/** One instance name: the newer process is known to have taken the older one's place. */
const environment = (database: TestDatabase, url: string) => ({
  SMSGATEWAYCENTER_BASE_URL: url,
  DATABASE_URL: urls(database).backfill,
  SENDLEDGER_INSTANCE: 'backfill-0',
});

const complete = (database: TestDatabase, run: string) =>
  until(async () => (await backfillRun(database.pool, run))?.state === 'complete');

/** FC-16 */
describe('thirty days, and a worker that is killed after the fetch of each and before its commit', () => {
  test('the states, the money, the receipts and the sums are those of a run without kills; a kill costs one call', {
    timeout: LONG_MS,
  }, async ({ database: calm, freshDatabase: struck }) => {
    const days = pastDays(DAYS);
    const { sim, sends } = await simulatorWithPast(days, A_DAY, { failMobile: /[1]$/ });
    try {
      const calmRun = await begun(calm, sends, days);
      const worker = startApp('backfill', environment(calm, sim.url));
      await complete(calm, calmRun);
      worker.signal('SIGTERM');
      expect(await worker.ended).toBe(0);
      const wanted = { states: await finalStates(calm), receipts: await receiptsOf(calm) };
      expect(Object.keys(wanted.states)).toHaveLength(DAYS * A_DAY);
      expect(new Set(Object.values(wanted.states))).toEqual(new Set(['delivered 0.1200', 'failed 0.1200']));
      expect(sim.calls()).toMatchObject({ dayReport: DAYS, dayFile: 0 });

      const run = await begun(struck, sends, days);
      const orders = await Orders.open();
      let kills = 0;
      for (let day = 0; day < DAYS; day++) {
        // Beginning with the second day, the process first reads the day on which its predecessor was killed.
        const order = await orders.give('backfill: day fetched', day === 0 ? 1 : 2);
        const doomed = startApp('backfill', environment(struck, sim.url), orders.folder);
        expect(await orders.arrival(order, performance.now() + LONG_MS)).toMatchObject({ pid: doomed.pid });
        doomed.signal('SIGKILL');
        await doomed.ended;
        kills++;
        // The day that was fetched is not done, and those before it are.
        const { state, days: sums } = (await backfillRun(struck.pool, run)) ?? {};
        expect([state, sums?.applied]).toEqual(['running', day]);
      }
      const last = startApp('backfill', environment(struck, sim.url), orders.folder);
      await complete(struck, run);
      last.signal('SIGTERM');
      expect(await last.ended).toBe(0);
      await orders.close();

      expect({ states: await finalStates(struck), receipts: await receiptsOf(struck) }).toEqual(wanted);
      expect(sim.calls().dayReport - DAYS).toBeLessThanOrEqual(DAYS + kills);
      const [a, b] = [await backfillRun(calm.pool, calmRun), await backfillRun(struck.pool, run)];
      for (const sum of ['rows', 'badRows', 'receipts', 'fresh', 'applied', 'orphans'] as const)
        expect([sum, b?.[sum]]).toEqual([sum, a?.[sum]]);
      expect(b).toMatchObject({ reads: DAYS + kills, fresh: String(DAYS * A_DAY), applied: String(DAYS * A_DAY) });
    } finally {
      await sim.close();
    }
  });
});
