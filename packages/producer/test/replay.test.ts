import { laneName, WAKE_PREFIX, type WakeJob } from '@sendledger/core';
import { test } from '@sendledger/local/fixtures';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { describe, expect, vi } from 'vitest';
import { createProducer } from '../src/index.ts';
import { aRoute } from './ledger-fixture.ts';
import { message } from './message-builder.ts';

const WHO = { who: 'asha', why: 'the customer called' };

/** An expired message of a tenant of its own, made by an application with the rights of one. */
async function expired(database: { pool: pg.Pool; urlFor(role: string): string }, tenant = 'shop') {
  const app = new pg.Pool({ connectionString: database.urlFor('sendledger_producer'), max: 3 });
  const { route, routeId } = await aRoute(database.pool);
  const producer = createProducer({ tenant });
  const wanted = message({ route });
  const { results } = await producer.transaction(app, (tx) => producer.enqueue(tx, wanted));
  const [first] = results;
  if (first?.id === undefined || first.createdAt === undefined) throw new Error('not enqueued');
  await database.pool.query(`update sendledger.outbound_message set state = 'expired' where id = $1`, [first.id]);
  return { app, producer, routeId, wanted, messageId: first.id, createdAt: first.createdAt };
}

describe('replay', () => {
  test('in the caller’s transaction: there with the commit, gone with the rollback', async ({ database }) => {
    const { app, producer, wanted, messageId, createdAt } = await expired(database);
    const rows = async () =>
      (await database.pool.query('select id from sendledger.outbound_message where replaces_id = $1', [messageId]))
        .rows;
    await producer
      .transaction(app, async (tx) => {
        expect((await producer.replay(tx, { messageId, createdAt, ...WHO })).result.answer).toBe('created');
        throw new Error('the order failed');
      })
      .catch(() => undefined);
    expect(await rows()).toEqual([]);

    const { result } = await producer.transaction(app, (tx) => producer.replay(tx, { messageId, createdAt, ...WHO }));
    expect(result).toMatchObject({ answer: 'created', attemptKey: expect.any(String), createdAt: expect.any(String) });
    expect(await rows()).toEqual([{ id: result.id }]);
    const again = await producer.transaction(app, (tx) => producer.enqueue(tx, wanted));
    expect(again.results).toMatchObject([{ answer: 'duplicate', id: result.id, attemptKey: result.attemptKey }]);
    await app.end();
  });

  test('refused: an answer with its reason, kept in the audit log, and the transaction goes on', async ({
    database,
  }) => {
    const { app, producer, messageId, createdAt } = await expired(database);
    const twice = () => producer.transaction(app, (tx) => producer.replay(tx, { messageId, createdAt, ...WHO }));
    await twice();
    expect((await twice()).result).toEqual({ answer: 'replaced', reason: expect.stringContaining('replaced by') });
    const { rows } = await database.pool.query(
      `select who, why, details->>'answer' as answer from sendledger.audit_log where message_id = $1 and action = 'replay_refused'`,
      [messageId],
    );
    expect(rows).toEqual([{ ...WHO, answer: 'replaced' }]);
    for (const change of [{ who: '' }, { why: ' ' }])
      await expect(
        producer.transaction(app, (tx) => producer.replay(tx, { messageId, createdAt, ...WHO, ...change })),
      ).rejects.toMatchObject({ code: 'SENDLEDGER_REASON_NEEDED' });
    await app.end();
  });

  test('of another tenant there is no such message', async ({ database }) => {
    const { app, messageId, createdAt } = await expired(database);
    const stranger = createProducer({ tenant: 'another' });
    const { result } = await stranger.transaction(app, (tx) => stranger.replay(tx, { messageId, createdAt, ...WHO }));
    expect(result).toMatchObject({ answer: 'not_found' });
    const named = await stranger.transaction(app, (tx) =>
      stranger.replay(tx, { messageId, createdAt: new Date(createdAt), tenantId: 'shop', ...WHO }),
    );
    expect(named.result).toMatchObject({ answer: 'created' });
    await app.end();
  });

  test('what was billed and expired only where a second one is acceptable', async ({ database }) => {
    const { app, producer, messageId, createdAt } = await expired(database);
    const billed = `cost = 0.1, billable_units = 1, cost_currency = 'INR', cost_source = 'evidence', billed_after_close_at = now()`;
    await database.pool.query(`update sendledger.outbound_message set ${billed} where id = $1`, [messageId]);
    const ask = (mayDuplicate?: boolean) =>
      producer.transaction(app, (tx) => producer.replay(tx, { messageId, createdAt, ...WHO, mayDuplicate }));
    expect((await ask()).result).toMatchObject({ answer: 'may_duplicate' });
    expect((await ask(true)).result).toMatchObject({ answer: 'created' });
    await app.end();
  });

  test('not through a pool', async ({ database }) => {
    const { app, producer, messageId, createdAt } = await expired(database);
    await expect(producer.replay(app, { messageId, createdAt, ...WHO })).rejects.toMatchObject({
      code: 'SENDLEDGER_TRANSACTION_NEEDED',
    });
    await app.end();
  });

  test('wakes its lane after the commit', async ({ database, redisUrl }) => {
    const { app, routeId, messageId, createdAt } = await expired(database);
    const seen: string[] = [];
    const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
    const worker = new Worker<WakeJob>(
      'claim',
      async (job) => {
        seen.push(job.data.lane);
      },
      { connection, prefix: WAKE_PREFIX },
    );
    await worker.waitUntilReady();
    const producer = createProducer({ tenant: 'shop', redisUrl });
    await producer.transaction(app, async (tx) => {
      await (await producer.replay(tx, { messageId, createdAt, ...WHO })).wake();
      expect(seen).toEqual([]);
    });
    await vi.waitFor(() => expect(seen).toEqual([laneName(routeId, 'transactional')]), { timeout: 60_000 });
    await producer.close();
    await worker.close();
    connection.disconnect();
    await app.end();
  });
});
