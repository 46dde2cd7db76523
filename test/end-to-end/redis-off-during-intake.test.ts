import { randomUUID } from 'node:crypto';
import { startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { createProducer, type Producer } from '@sendledger/producer';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { furnish, openRows, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

/** An order a second for ten minutes, as fast as they commit. */
const ORDERS = 600;

let next = 0;
const order = (producer: Producer, database: TestDatabase) =>
  producer.transaction(database.pool, (tx) =>
    producer.enqueue(tx, {
      class: 'transactional',
      to: `+9198${String(10_000_000 + next++)}`,
      event: { type: 'order', id: randomUUID() },
      body: `Order ${next} is ready`,
    }),
  );

function fleet(database: TestDatabase, redisUrl: string, simUrl: string) {
  const url = urls(database);
  const common = { REDIS_URL: redisUrl, SMSGATEWAYCENTER_BASE_URL: simUrl };
  return [
    startApp('claim', { ...common, DATABASE_URL: url.claim }),
    startApp('submit', { ...common, DATABASE_URL: url.submit }),
    startApp('submit', { ...common, DATABASE_URL: url.submit }),
    startApp('reconcile', { ...common, DATABASE_URL: url.reconcile }),
  ];
}

describe('Redis is off while six hundred transactions take in a message each (FC-17)', () => {
  test('no enqueue fails, all are delivered, none twice; when it is back its wake-ups are too', {
    timeout: 900_000,
  }, async ({ freshDatabase: database, redis }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    const apps = fleet(database, redis.url, sim.url);
    await Promise.all(apps.map((app) => app.saw((line) => line.event === 'started')));
    const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN', redisUrl: redis.url });
    await order(producer, database);
    await redis.kill();
    await Promise.all(apps.map((app) => app.saw((line) => line.event === 'redis_down')));

    for (let i = 0; i < ORDERS; i++) await order(producer, database);
    expect(producer.wakeFailures).toBeGreaterThan(0);
    await until(async () => (await openRows(database)) === 0);
    expect(await statesOf(database)).toEqual({ delivered: ORDERS + 1 });
    expect(sim.log.counts()).toMatchObject({ accepted: ORDERS + 1, duplicates: 0 });

    await redis.restart();
    await Promise.all(apps.map((app) => app.saw((line) => line.event === 'redis_back')));
    await until(async () => {
      const failures = producer.wakeFailures;
      await order(producer, database);
      return producer.wakeFailures === failures;
    });
    await until(async () => (await openRows(database)) === 0);
    expect(sim.log.counts().duplicates).toBe(0);
    expect(await statesOf(database)).toEqual({ delivered: sim.log.counts().accepted });
    await producer.close();
    await sim.close();
  });

  test('… and a fleet and an application that start without it', async ({ freshDatabase: database, redis }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    await redis.kill();
    fleet(database, redis.url, sim.url);
    const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN', redisUrl: redis.url });
    for (let i = 0; i < 50; i++) await order(producer, database);
    await until(async () => (await openRows(database)) === 0);
    expect(await statesOf(database)).toEqual({ delivered: 50 });
    expect(sim.log.counts()).toMatchObject({ accepted: 50, duplicates: 0 });
    await producer.close();
    await sim.close();
  });
});
