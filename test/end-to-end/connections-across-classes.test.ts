import { MESSAGE_CLASSES } from '@sendledger/core';
import { claim, registerWorker } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

const A_CLASS = 40;

/** Open submissions in each of these lanes before the process starts, so that all of its loops find work at once. */
async function openIn(database: TestDatabase, classes: readonly (typeof MESSAGE_CLASSES)[number][]): Promise<void> {
  const routeId = await furnish(database);
  const worker = await registerWorker(database.pool, 'test', 'claims-by-hand');
  for (const [i, messageClass] of classes.entries()) {
    await enqueueMany(database, A_CLASS, { class: messageClass, from: i * 1_000 });
    // Shorter than a code is worth sending for, or it would be left to expire.
    const lease = { leaseMs: 120_000, workerId: worker.id };
    expect(await claim(database.pool, { routeId, messageClass, limit: A_CLASS, ...lease })).toMatchObject({
      rows: A_CLASS,
    });
  }
}

describe('requests of one process on the wire', () => {
  // A quarter, rounded down, is kept for codes.
  for (const [concurrency, withoutCodes] of [
    [1, 1],
    [4, 3],
    [9, 7],
  ] as const) {
    test(`with lanes of all classes never more than ${concurrency}`, async ({ freshDatabase: database }) => {
      const sim = await startGatewaySim({ latencyMs: { min: 5, max: 60 } });
      await openIn(database, MESSAGE_CLASSES);
      const submit = startApp('submit', {
        DATABASE_URL: urls(database).submit,
        SMSGATEWAYCENTER_BASE_URL: sim.url,
        SENDLEDGER_SUBMIT_CONCURRENCY: String(concurrency),
      });
      const all = A_CLASS * MESSAGE_CLASSES.length;
      await until(async () => (await statesOf(database)).submitted === all);
      expect(sim.activity().peakInFlight).toBeLessThanOrEqual(concurrency);
      expect(sim.log.counts()).toMatchObject({ requests: all, accepted: all, duplicates: 0 });
      submit.signal('SIGTERM');
      expect(await submit.ended).toBe(0);
      await sim.close();
    });

    test(`of a campaign alone never more than ${withoutCodes} of ${concurrency}: the rest is kept for codes`, async ({
      freshDatabase: database,
    }) => {
      const sim = await startGatewaySim();
      await openIn(database, ['promotional', 'transactional']);
      // Held, so that the process takes all it may and the count is no matter of luck.
      sim.faults.share({ hold: 1 });
      const submit = startApp('submit', {
        DATABASE_URL: urls(database).submit,
        SMSGATEWAYCENTER_BASE_URL: sim.url,
        SENDLEDGER_SUBMIT_CONCURRENCY: String(concurrency),
      });
      await sim.faults.untilHeld(withoutCodes);
      await until(async () => {
        sim.faults.release();
        return (await statesOf(database)).submitted === 2 * A_CLASS;
      });
      expect(sim.activity().peakInFlight).toBe(withoutCodes);
      submit.signal('SIGTERM');
      expect(await submit.ended).toBe(0);
      await sim.close();
    });
  }
});
