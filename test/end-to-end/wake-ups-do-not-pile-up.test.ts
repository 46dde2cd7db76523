import { randomUUID } from 'node:crypto';
import { rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { createProducer } from '@sendledger/producer';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, openRows, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';
import { WakeQueues } from './wake-queues.ts';

afterEach(endAllApps);

const BACKLOG = 400;
const ROUNDS = 30;
/** One a class of the one route; to claim, what came and what has room again are two names of a lane. */
const NAMES = 2 * 3;

describe('a backlog that the provider takes one a second of (FC-14)', () => {
  test('thirty rounds of claim and sweep, each with its wake-ups: never more jobs than lanes, and none of a row', async ({
    freshDatabase: database,
    redisUrl,
  }) => {
    const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
    await furnish(database);
    await database.pool.query('update sendledger.route set rate_per_second = 1');
    const url = urls(database);
    const common = { REDIS_URL: redisUrl, SMSGATEWAYCENTER_BASE_URL: sim.url };
    // The shortest lease there is: what the provider does not take in time is given back, and claimed again.
    startApp('claim', { ...common, DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '1000' });
    for (let i = 0; i < 2; i++) startApp('submit', { ...common, DATABASE_URL: url.submit });
    startApp('reconcile', { ...common, DATABASE_URL: url.reconcile, SENDLEDGER_SWEEP_INTERVAL_MS: '20' });
    await enqueueMany(database, BACKLOG, { class: 'promotional' });
    await enqueueMany(database, BACKLOG, { from: BACKLOG });

    const queues = new WakeQueues(redisUrl);
    const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN', redisUrl });
    const enqueue = (n: number, worthless = false) =>
      producer.transaction(database.pool, async (tx) => {
        const { results } = await producer.enqueue(tx, {
          class: n % 2 === 0 ? 'transactional' : 'promotional',
          to: `+9197${String(10_000_000 + n)}`,
          event: { type: 'order', id: randomUUID() },
          body: `Order ${n} is ready`,
        });
        const [result] = results;
        if (worthless && result?.answer === 'created')
          // A time that is given to the call must be still to come when it is read, on however busy a machine.
          await tx.query('update sendledger.outbound_message set submit_by = now() where id = $1', [result.id]);
      });
    const longest: number[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      await enqueue(round);
      // Worthless at once, so that it shows when the sweep has passed by.
      await enqueue(ROUNDS + round, true);
      await until(async () => (await statesOf(database)).expired === round);
      const lengths = await queues.lengths();
      longest.push(...Object.values(lengths));
      for (const lane of await queues.lanes()) expect(lane).toMatch(/^(room\.)?\d+\.(otp|transactional|promotional)$/);
    }
    expect(Math.max(...longest)).toBeLessThanOrEqual(NAMES);

    // The backlog was there all the time, and waits in Postgres: each row with a time, none of them with a job.
    expect(await openRows(database)).toBeGreaterThan(BACKLOG);
    const waiting = await rowsOf<{ rows: number; without: number }>(
      database.pool,
      `select count(*)::integer as rows, (count(*) filter (where due_at is null))::integer as without
       from sendledger.outbound_message where state in ('pending', 'retry', 'claimed')`,
    );
    expect(waiting).toEqual([{ rows: expect.any(Number), without: 0 }]);
    expect(waiting[0]?.rows).toBeGreaterThan(BACKLOG);
    expect(sim.log.counts().accepted).toBeGreaterThan(0);
    expect(sim.log.counts().duplicates).toBe(0);
    await queues.close();
    await producer.close();
    await sim.close();
  });
});
