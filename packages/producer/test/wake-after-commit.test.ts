import { laneName, WAKE_PREFIX, type WakeJob } from '@sendledger/core';
import { test } from '@sendledger/local/fixtures';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, vi } from 'vitest';
import { createProducer, type Producer } from '../src/index.ts';
import { aCode, aRoute, bodiesOf } from './ledger-fixture.ts';
import { message } from './message-builder.ts';

/** Collects the lanes that a claim worker would be woken for. */
async function listen(redisUrl: string, onLane: (lane: string) => Promise<void> | void) {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const worker = new Worker<WakeJob>('claim', async (job) => onLane(job.data.lane), {
    connection,
    prefix: WAKE_PREFIX,
  });
  await worker.waitUntilReady();
  return async () => {
    await worker.close();
    connection.disconnect();
  };
}

async function withProducer(redisUrl: string | null, use: (producer: Producer) => Promise<void>) {
  const producer = createProducer({ tenant: 'shop', redisUrl });
  try {
    await use(producer);
  } finally {
    await producer.close();
  }
}

/** What must come is waited for until it is there. */
const PATIENTLY = { timeout: 60_000 };
const settled = () => new Promise((resolve) => setTimeout(resolve, 150));

describe('wake-ups', () => {
  test('come after the commit, one for each lane', async ({ database, redisUrl }) => {
    const { route, routeId } = await aRoute(database.pool);
    const code = await aCode(database.pool, 'Your code is 482915');
    const [transactional, otp] = [message({ route }), message({ route, ...code })];
    const seen: { lane: string; rows: number }[] = [];
    const stop = await listen(redisUrl, async (lane) => {
      // Read on another connection: what it sees is committed.
      const rows = await bodiesOf(database.pool, transactional.event.id);
      seen.push({ lane, rows: rows.length });
    });
    await withProducer(redisUrl, async (producer) => {
      await producer.transaction(database.pool, async (tx) => {
        const reply = await producer.enqueue(tx, [transactional, otp, message({ route })]);
        // Inside transaction() it is too early, so this does nothing.
        await reply.wake();
        await settled();
        expect(seen).toEqual([]);
      });
      await vi.waitFor(() => expect(seen).toHaveLength(2), PATIENTLY);
      expect(seen.toSorted((a, b) => (a.lane < b.lane ? -1 : 1))).toEqual([
        { lane: laneName(routeId, 'otp'), rows: 1 },
        { lane: laneName(routeId, 'transactional'), rows: 1 },
      ]);
      expect(producer.wakeFailures).toBe(0);
    });
    await stop();
  });

  test('are not sent for a rollback, a duplicate or a refused call', async ({ database, redisUrl }) => {
    const { route } = await aRoute(database.pool);
    const once = message({ route });
    await withProducer(null, async (quiet) => {
      await quiet.transaction(database.pool, (tx) => quiet.enqueue(tx, once));
    });
    const seen: string[] = [];
    const stop = await listen(redisUrl, (lane) => {
      seen.push(lane);
    });
    await withProducer(redisUrl, async (producer) => {
      await producer
        .transaction(database.pool, async (tx) => {
          await producer.enqueue(tx, message({ route }));
          throw new Error('the order failed');
        })
        .catch(() => undefined);
      await producer.transaction(database.pool, (tx) => producer.enqueue(tx, once));
      await producer.transaction(database.pool, async (tx) => {
        await producer.enqueue(tx, [message({ route }), { ...once, body: 'Other.' }]).catch(() => undefined);
      });
      await settled();
      expect(seen).toEqual([]);
    });
    await stop();
  });

  test('are the caller’s to fire where the transaction is the caller’s', async ({ database, redisUrl }) => {
    const { route, routeId } = await aRoute(database.pool);
    const seen: string[] = [];
    const stop = await listen(redisUrl, (lane) => {
      seen.push(lane);
    });
    await withProducer(redisUrl, async (producer) => {
      const client = await database.pool.connect();
      await client.query('begin');
      const reply = await producer.enqueue(client, message({ route }));
      await client.query('commit');
      client.release();
      await settled();
      expect(seen).toEqual([]);
      await reply.wake();
      await vi.waitFor(() => expect(seen).toEqual([laneName(routeId, 'transactional')]), PATIENTLY);
    });
    await stop();
  });
});

describe('without a Redis that answers', () => {
  test('never up: the message is written, the wake-up is counted, and only the first call waits', async ({
    database,
  }) => {
    const { route } = await aRoute(database.pool);
    // Port 9 (discard) is answered by nobody here.
    await withProducer('redis://127.0.0.1:9', async (producer) => {
      const wanted = message({ route });
      const started = performance.now();
      await producer.transaction(database.pool, (tx) => producer.enqueue(tx, wanted));
      expect(performance.now() - started).toBeLessThan(1500);
      expect(await bodiesOf(database.pool, wanted.event.id)).toHaveLength(1);
      expect(producer.wakeFailures).toBe(1);

      const again = performance.now();
      for (let i = 0; i < 5; i++) {
        await producer.transaction(database.pool, (tx) => producer.enqueue(tx, message({ route })));
      }
      expect(performance.now() - again).toBeLessThan(1000);
      expect(producer.wakeFailures).toBe(6);
    });
  });

  test('killed and started again: nothing is thrown, and wake-ups come back by themselves', async ({
    database,
    redis,
  }) => {
    const { route, routeId } = await aRoute(database.pool);
    await withProducer(redis.url, async (producer) => {
      await producer.transaction(database.pool, (tx) => producer.enqueue(tx, message({ route })));
      expect(producer.wakeFailures).toBe(0);
      await redis.kill();
      const wanted = message({ route });
      await producer.transaction(database.pool, (tx) => producer.enqueue(tx, wanted));
      expect(producer.wakeFailures).toBe(1);
      expect(await bodiesOf(database.pool, wanted.event.id)).toHaveLength(1);

      await redis.restart();
      const seen: string[] = [];
      const stop = await listen(redis.url, (lane) => {
        seen.push(lane);
      });
      await vi.waitFor(
        async () => {
          await producer.transaction(database.pool, (tx) => producer.enqueue(tx, message({ route })));
          expect(seen).toContain(laneName(routeId, 'transactional'));
        },
        { ...PATIENTLY, interval: 200 },
      );
      await stop();
    });
  });

  test('null: waking is nothing', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    await withProducer(null, async (producer) => {
      await producer.transaction(database.pool, async (tx) => {
        await (await producer.enqueue(tx, message({ route }))).wake();
      });
      expect(producer.wakeFailures).toBe(0);
    });
  });
});
