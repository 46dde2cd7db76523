import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { createProducer } from '@sendledger/producer';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, openRows, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';
import { WakeQueues } from './wake-queues.ts';

afterEach(endAllApps);

describe('BullMQ that hands out nothing, while Redis is up (FC-20)', () => {
  test('rows due now, and rows due later, are found by polling: all delivered, none twice', async ({
    freshDatabase: database,
    redisUrl,
  }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    const queues = new WakeQueues(redisUrl);
    await queues.pause();
    const url = urls(database);
    const common = { REDIS_URL: redisUrl, SMSGATEWAYCENTER_BASE_URL: sim.url };
    const apps = [
      startApp('claim', { ...common, DATABASE_URL: url.claim }),
      startApp('submit', { ...common, DATABASE_URL: url.submit }),
      startApp('reconcile', { ...common, DATABASE_URL: url.reconcile }),
    ];
    await Promise.all(apps.map((app) => app.saw((line) => line.event === 'started')));
    await enqueueMany(database, 60);
    await enqueueMany(database, 20, { class: 'otp', from: 1_000 });
    // Due in the future: the kind of job that users saw stuck for ever.
    const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN', redisUrl });
    await producer.transaction(database.pool, (tx) =>
      producer.enqueue(tx, {
        class: 'transactional',
        to: '+919700000001',
        event: { type: 'reminder', id: 'later' },
        body: 'Your order is waiting',
        scheduledFor: new Date(Date.now() + 1_500),
      }),
    );
    await until(async () => (await openRows(database)) === 0);
    expect(await statesOf(database)).toEqual({ delivered: 81 });
    expect(sim.log.counts()).toMatchObject({ accepted: 81, duplicates: 0 });

    // The wake-ups were sent, and nobody ever got one.
    expect(producer.wakeFailures).toBe(0);
    const lengths = await queues.lengths();
    expect(lengths.claim).toBeGreaterThan(0);
    expect(lengths.submit).toBeGreaterThan(0);
    await producer.close();
    await queues.close();
    await sim.close();
  });
});
