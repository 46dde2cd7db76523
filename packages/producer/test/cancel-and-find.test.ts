import { randomUUID } from 'node:crypto';
import { MikroORM } from '@mikro-orm/postgresql';
import { applyOutcomes, claim, durably, markNext, registerWorker } from '@sendledger/core/ledger';
import { test as base } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import { type ClientPool, createProducer, type Which } from '../src/index.ts';
import { aRoute } from './ledger-fixture.ts';
import { message } from './message-builder.ts';

/** A pool with the rights of an application. */
const test = base.extend('app', { scope: 'file' }, async ({ database }, { onCleanup }) => {
  const app = new pg.Pool({ connectionString: database.urlFor('sendledger_producer'), max: 4 });
  onCleanup(() => app.end());
  return app;
});

const WHO = { by: 'shop-api', why: 'the order was cancelled' };
const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN' });

async function enqueued(app: pg.Pool, change: Parameters<typeof message>[0]) {
  const wanted = message(change);
  const { results } = await producer.transaction(app, (tx) => producer.enqueue(tx, wanted));
  return { wanted, results, ids: results.map((result) => result.id ?? '') };
}

const statesOf = async (pool: pg.Pool, ids: readonly string[]) => {
  const { rows } = await pool.query<{ id: string; state: string }>(
    'select id, state from sendledger.outbound_message where id = any ($1)',
    [ids],
  );
  return ids.map((id) => rows.find((row) => row.id === id)?.state);
};

describe('cancel', () => {
  const TO = ['+919876500001', '098765 00002'];
  const cases: Readonly<
    Record<string, { which: (wanted: ReturnType<typeof message>, ids: readonly string[]) => Which; cancelled: number }>
  > = {
    'one message': { which: (_wanted, ids) => ({ messageId: ids[0] ?? '' }), cancelled: 1 },
    'one recipient of an event, as a person writes the number': {
      which: (wanted) => ({ event: wanted.event, to: '098765 00001', key: { step: 'first' } }) as Which,
      cancelled: 1,
    },
    'an event': { which: (wanted) => ({ event: { type: wanted.event.type, id: wanted.event.id } }), cancelled: 2 },
    'a campaign': { which: (wanted) => ({ campaign: wanted.campaign ?? '' }), cancelled: 2 },
  };
  for (const [what, { which, cancelled }] of Object.entries(cases))
    test(`${what}, with the rights of an application`, async ({ database, app }) => {
      const { route } = await aRoute(database.pool);
      const { wanted, ids } = await enqueued(app, { route, to: TO, campaign: randomUUID(), key: { step: 'first' } });
      const report = await producer.cancel(app, { which: which(wanted, ids), ...WHO });
      expect(report).toMatchObject({
        counts: { cancelled, too_late: 0, unknown: 0 },
        notFound: false,
        listedAll: true,
      });
      expect((await statesOf(database.pool, ids)).filter((state) => state === 'cancelled')).toHaveLength(cancelled);
      const { rows } = await database.pool.query(
        'select requested_by, reason from sendledger.cancellation where id = $1',
        [report.cancellationId],
      );
      expect(rows).toEqual([{ requested_by: WHO.by, reason: WHO.why }]);
    });

  test('everything of a tenant, or one class of it; of another tenant nothing', async ({ database, app }) => {
    const { route } = await aRoute(database.pool);
    const tenant = `t-${randomUUID()}`;
    const { ids } = await enqueued(app, { route, tenant });
    const ads = await enqueued(app, { route, tenant, class: 'promotional' });
    expect(await producer.cancel(app, { which: { everything: true }, tenant: 'another', ...WHO })).toMatchObject({
      notFound: true,
    });
    expect(await producer.cancel(app, { which: { everything: 'promotional' }, tenant, ...WHO })).toMatchObject({
      counts: { cancelled: 1 },
    });
    expect(await statesOf(database.pool, [...ids, ...ads.ids])).toEqual(['pending', 'cancelled']);
    expect(await producer.cancel(app, { which: { everything: true }, tenant, ...WHO })).toMatchObject({
      counts: { cancelled: 1 },
    });
  });

  test('what is not there: not found; who, why and names are asked for', async ({ app }) => {
    for (const messageId of ['999999999', 'abc', '1; drop table'])
      expect(await producer.cancel(app, { which: { messageId }, ...WHO })).toMatchObject({
        notFound: true,
        cancellationId: null,
      });
    await expect(producer.cancel(app, { which: { campaign: 'x' }, by: '', why: 'x' })).rejects.toMatchObject({
      code: 'SENDLEDGER_REASON_NEEDED',
    });
    const nobody = createProducer({});
    const event = { type: 'order', id: '7' };
    for (const [one, which, field] of [
      [nobody, { campaign: 'x' }, 'tenant'],
      [producer, { campaign: 'x\0' }, 'campaign'],
      [producer, { event: { type: 'order', id: '' } }, 'event.id'],
      [producer, { event, to: 'nobody' }, 'to'],
    ] as const)
      await expect(one.cancel(app, { which, ...WHO })).rejects.toMatchObject({
        code: 'SENDLEDGER_MESSAGE_REFUSED',
        problems: [{ field }],
      });
  });

  test('cannot be called with a client, in or out of a transaction', async ({ database, app }) => {
    const single = new pg.Client({ connectionString: database.urlFor('sendledger_producer') });
    await single.connect();
    const lent = await app.connect();
    try {
      for (const client of [single, lent])
        await expect(
          producer.cancel(client as unknown as ClientPool, { which: { everything: true }, ...WHO }),
        ).rejects.toThrow(/^A cancellation runs in transactions of its own: give the pool/);
      // @ts-expect-error a client is no pool: it lends none
      void (() => producer.cancel(single, { which: { everything: true }, ...WHO }));
    } finally {
      lent.release();
      await single.end();
    }
  });
});

describe('the fact in the caller’s transaction', () => {
  test('stops nothing before the commit, and from then on every claim; the rest comes after the commit', async ({
    database,
    app,
  }) => {
    const { route, routeId } = await aRoute(database.pool);
    await database.pool.query(
      `insert into sendledger.rate_card (route_id, price_key, currency, price, valid) values ($1, '*', 'INR', 0.1, tstzrange('2020-01-01Z', null))`,
      [routeId],
    );
    const worker = await registerWorker(database.pool, 'claim', randomUUID());
    const claimOne = () =>
      claim(database.pool, { routeId, messageClass: 'transactional', limit: 1, leaseMs: 60_000, workerId: worker.id });
    const { wanted, ids } = await enqueued(app, { route, to: ['+919876500011', '+919876500012', '+919876500013'] });
    const which = { event: { type: wanted.event.type, id: wanted.event.id } };
    const recorded = await producer.transaction(app, async (tx) => {
      const fact = await producer.recordCancellation(tx, { which, ...WHO });
      expect(await claimOne()).toMatchObject({ rows: 1, cancelled: 0 });
      return fact;
    });
    expect(await claimOne()).toMatchObject({ rows: 0, cancelled: 1 });
    if (recorded === null) throw new Error('not recorded');
    expect((await statesOf(database.pool, ids)).toSorted()).toEqual(['cancelled', 'claimed', 'pending']);
    for (let twice = 0; twice < 2; twice++)
      expect(await producer.finishCancellation(app, recorded)).toMatchObject({ counts: { cancelled: 3, too_late: 0 } });
    expect(await statesOf(database.pool, ids)).toEqual(['cancelled', 'cancelled', 'cancelled']);
  });

  test('rolls back with the transaction: then it covers nothing, finished or not', async ({ database, app }) => {
    const { route } = await aRoute(database.pool);
    const { wanted, ids } = await enqueued(app, { route });
    let recorded: Awaited<ReturnType<typeof producer.recordCancellation>> = null;
    await producer
      .transaction(app, async (tx) => {
        recorded = await producer.recordCancellation(tx, { which: { event: wanted.event as never }, ...WHO });
        throw new Error('the order failed');
      })
      .catch(() => undefined);
    if (recorded === null) throw new Error('not recorded');
    expect(await producer.finishCancellation(app, recorded)).toMatchObject({ notFound: true });
    expect(await statesOf(database.pool, ids)).toEqual(['pending']);
  });

  test('not through a pool; through an entity manager in its transaction', async ({ database, app }) => {
    await expect(producer.recordCancellation(app, { which: { campaign: 'x' }, ...WHO })).rejects.toMatchObject({
      code: 'SENDLEDGER_TRANSACTION_NEEDED',
    });
    const { route } = await aRoute(database.pool);
    const tenant = `t-${randomUUID()}`;
    const { ids } = await enqueued(app, { route, tenant });
    const orm = await MikroORM.init({
      clientUrl: database.urlFor('sendledger_producer'),
      entities: [],
      discovery: { warnWhenNoEntities: false },
    });
    try {
      const recorded = await orm.em.fork().transactional(async (em) => {
        expect(await producer.find(em, { which: { messageId: ids[0] ?? '' }, tenant })).toMatchObject([
          { id: ids[0], createdAt: expect.any(Date), state: 'pending', conflict: false },
        ]);
        return producer.recordCancellation(em, { which: { everything: true }, tenant, ...WHO });
      });
      if (recorded === null) throw new Error('not recorded');
      expect(recorded.fact.coversUntil).toBeInstanceOf(Date);
      expect(await producer.finishCancellation(app, recorded)).toMatchObject({ counts: { cancelled: 1 } });
    } finally {
      await orm.close(true);
    }
  });
});

describe('find', () => {
  test('by message, by key and by event: state, the provider’s ids and cost, and no text', async ({
    database,
    app,
  }) => {
    const { route, routeId } = await aRoute(database.pool);
    await database.pool.query(
      `insert into sendledger.rate_card (route_id, price_key, currency, price, valid) values ($1, '*', 'INR', 0.1225, tstzrange('2020-01-01Z', null))`,
      [routeId],
    );
    const secret = `Order ${randomUUID()} is on its way`;
    const { wanted, ids } = await enqueued(app, {
      route,
      body: secret,
      to: ['+919876500021', '+919876500022'],
      campaign: 'spring',
    });
    const worker = await registerWorker(database.pool, 'submit', randomUUID());
    const lane = { routeId, messageClass: 'transactional' as const, workerId: worker.id };
    await claim(database.pool, { ...lane, limit: 10, leaseMs: 60_000 });
    const marked = await markNext(database.pool, { ...lane, limit: 10, leaseMs: 60_000, environment: 'test' });
    await durably(database.pool, (sql) =>
      applyOutcomes(
        sql,
        marked.map((m) => ({
          id: m.id,
          createdAt: m.createdAt,
          leaseToken: m.leaseToken,
          state: 'accepted',
          reason: 'accepted',
          proof: null,
          providerTxnId: `txn-${m.id}`,
          statusCode: '200',
          httpStatus: 200,
          rawReply: null,
          pollInMs: null,
          rows: m.rows.map(({ id, createdAt }) => ({
            id,
            createdAt,
            to: 'submitted',
            reason: null,
            cause: null,
            countsAsAttempt: true,
            retryInMs: null,
          })),
        })),
      ),
    );
    const event = { type: wanted.event.type, id: wanted.event.id };
    const all = await producer.find(app, { which: { event } });
    expect(all.map((one) => one.id).toSorted()).toEqual(ids.toSorted());
    const [first] = await producer.find(app, { which: { messageId: ids[0] ?? '' } });
    expect(first).toMatchObject({
      id: ids[0],
      recipient: '919876500021',
      state: 'submitted',
      event,
      campaign: 'spring',
      attempts: 1,
      provider: { name: 'sim', transactionId: expect.stringMatching(/^txn-/), messageId: null },
      cost: { amount: '0.1225', currency: 'INR', units: 1, source: 'quote' },
      submittedAt: expect.any(Date),
      deliveredAt: null,
    });
    expect(await producer.find(app, { which: { event, to: '098765 00021' } })).toEqual([first]);
    expect(JSON.stringify(all)).not.toContain(secret);
    expect(await producer.find(app, { which: { event }, limit: 1 })).toHaveLength(1);
    for (const which of [{ event }, { event, to: '+919876500021' }, { messageId: ids[0] ?? '' }])
      expect(await producer.find(app, { which, tenant: 'another' })).toEqual([]);
    expect(await producer.find(app, { which: { event: { ...event, type: 'order.lost' } } })).toEqual([]);
    expect(await producer.find(app, { which: { messageId: 'x' } })).toEqual([]);
  });

  test('what was sent again is found by its key as its successor', async ({ database, app }) => {
    const { route } = await aRoute(database.pool);
    const { wanted, results } = await enqueued(app, { route });
    const [result] = results;
    await producer.cancel(app, { which: { messageId: result?.id ?? '' }, ...WHO });
    const again = await producer.transaction(app, (tx) =>
      producer.replay(tx, {
        messageId: result?.id ?? '',
        createdAt: result?.createdAt ?? '',
        who: 'asha',
        why: 'wanted after all',
      }),
    );
    const event = { type: wanted.event.type, id: wanted.event.id };
    expect(await producer.find(app, { which: { event } })).toMatchObject([
      { id: again.result.id, replacesId: result?.id, state: 'pending', attempts: 0, cost: null },
    ]);
    expect(await producer.find(app, { which: { messageId: result?.id ?? '' } })).toMatchObject([
      { state: 'cancelled', reason: 'cancelled' },
    ]);
  });
});
