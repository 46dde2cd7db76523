import { test } from '@sendledger/local/fixtures';
import { Redis } from 'ioredis';
import pg from 'pg';
import { describe, expect, vi } from 'vitest';
import { createProducer, type Producer } from '../src/index.ts';
import { aRoute } from './ledger-fixture.ts';
import { message } from './message-builder.ts';

const producer = createProducer({ tenant: 'shop' });
const BY = { by: 'shop-api', why: 'the sale begins later' };
const later = () => new Date(Date.now() + 7_200_000);

async function scheduledMessage(pool: pg.Pool, route: string, by: Producer = producer): Promise<string> {
  const wanted = message({ route, scheduledFor: new Date(Date.now() + 3_600_000) });
  const { results } = await by.transaction(pool, (tx) => by.enqueue(tx, wanted));
  return results[0]?.id ?? '';
}

describe('reschedule', () => {
  test('moves what waits, in a transaction of its own, and wakes its lane', async ({ database, redisUrl }) => {
    const { pool } = database;
    const { route } = await aRoute(pool);
    const waking = createProducer({ tenant: 'shop', redisUrl });
    const redis = new Redis(redisUrl);
    try {
      const id = await scheduledMessage(pool, route, waking);
      await redis.flushall();
      const to = later();
      expect(await waking.reschedule(pool, { messageId: id, to, ...BY })).toEqual({
        answer: 'moved',
        scheduledFor: to,
      });
      await vi.waitFor(async () => expect(await redis.keys('sendledger:claim:*')).not.toEqual([]), { timeout: 60_000 });
      expect(await producer.find(pool, { which: { messageId: id } })).toMatchObject([{ scheduledFor: to, dueAt: to }]);
    } finally {
      redis.disconnect();
      await waking.close();
    }
  });

  test('as the producer’s own role, and only of its own tenant', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const id = await scheduledMessage(database.pool, route);
    const pool = new pg.Pool({ connectionString: database.urlFor('sendledger_producer'), max: 1 });
    try {
      const asked = { messageId: id, to: later(), ...BY };
      expect(await producer.reschedule(pool, { ...asked, tenant: 'another' })).toEqual({ answer: 'not_found' });
      expect(await producer.reschedule(pool, asked)).toMatchObject({ answer: 'moved' });
    } finally {
      await pool.end();
    }
  });

  test('answers a refusal, and throws for a reason that is missing and for a client', async ({ database }) => {
    const { pool } = database;
    const { route } = await aRoute(pool);
    const id = await scheduledMessage(pool, route);
    const asked = { messageId: id, to: later(), ...BY };
    for (const [change, answer] of [
      [{ messageId: 'x' }, 'not_found'],
      [{ to: '2099-01-01T09:00' }, 'invalid'],
      [{ to: 'a\0' }, 'invalid'],
      [{ to: new Date(Number.NaN) }, 'invalid'],
      [{ to: '2020-01-01T09:00Z' }, 'invalid'],
    ] as const)
      expect([change, await producer.reschedule(pool, { ...asked, ...change })]).toEqual([change, { answer }]);
    await expect(producer.reschedule(pool, { ...asked, why: ' ' })).rejects.toMatchObject({
      code: 'SENDLEDGER_REASON_NEEDED',
    });
    await expect(createProducer({}).reschedule(pool, asked)).rejects.toMatchObject({
      code: 'SENDLEDGER_MESSAGE_REFUSED',
    });
    const client = await pool.connect();
    try {
      await expect(producer.reschedule(client as never, asked)).rejects.toThrow(TypeError);
    } finally {
      client.release();
    }
  });

  test('by the wall clock of a zone', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const id = await scheduledMessage(database.pool, route);
    const asked = { messageId: id, to: '2090-01-10T09:00', zone: 'Asia/Kathmandu', ...BY };
    expect(await producer.reschedule(database.pool, asked)).toEqual({
      answer: 'moved',
      scheduledFor: new Date('2090-01-10T03:15Z'),
    });
  });
});
