import { MikroORM } from '@mikro-orm/postgresql';
import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, describe, expect } from 'vitest';
import { createProducer, type EnqueueReply, type Transaction } from '../src/index.ts';
import { aRoute, begun, bodiesOf } from './ledger-fixture.ts';
import { message } from './message-builder.ts';

const options = { tenant: 'shop', defaultRegion: 'IN', redisUrl: null };
const producer = createProducer(options);

/** A call that is refused: its savepoint is rolled back, and with it whatever else was written since. */
async function conflicting(pool: pg.Pool, route: string) {
  const taken = message({ route });
  await producer.transaction(pool, (tx) => producer.enqueue(tx, taken));
  return { ...taken, body: 'Other.' };
}

describe('two calls at once on one transaction, one of them refused', () => {
  for (const order of ['the refused one first', 'the good one first'] as const)
    test(`${order}: what answered created is there after the commit`, async ({ database }) => {
      const { route } = await aRoute(database.pool);
      const refused = await conflicting(database.pool, route);
      const good = message({ route });
      const client = await begun(database.url);
      try {
        const calls = order === 'the good one first' ? [good, refused] : [refused, good];
        const settled = await Promise.allSettled(calls.map((call) => producer.enqueue(client, call)));
        const outcomeOf = (call: typeof good) => settled[calls.indexOf(call)];
        expect(outcomeOf(good)).toMatchObject({ status: 'fulfilled', value: { results: [{ answer: 'created' }] } });
        expect(outcomeOf(refused)).toMatchObject({
          status: 'rejected',
          reason: { code: 'SENDLEDGER_MESSAGE_REFUSED' },
        });
        await client.query('commit');
      } finally {
        await client.end();
      }
      expect(await bodiesOf(database.pool, good.event.id)).toHaveLength(1);
      expect(await bodiesOf(database.pool, refused.event.id)).toEqual(['Your order is on its way.']);
    });

  test('by two producers, which know nothing of each other', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const refused = await conflicting(database.pool, route);
    const good = message({ route });
    const other = createProducer(options);
    await producer.transaction(database.pool, async (tx) => {
      const settled = await Promise.allSettled([producer.enqueue(tx, refused), other.enqueue(tx, good)]);
      expect(settled.map((s) => s.status)).toEqual(['rejected', 'fulfilled']);
    });
    expect(await bodiesOf(database.pool, good.event.id)).toHaveLength(1);
  });
});

type Kind = 'good' | 'duplicate' | 'conflict' | 'unreadable' | 'no route' | 'report';

test('many calls at once on one client, of every kind and in any order: created is there, refused is not, once each', async ({
  database,
}) => {
  const { route } = await aRoute(database.pool);
  const taken = message({ route });
  await producer.transaction(database.pool, (tx) => producer.enqueue(tx, taken));
  const kinds = fc.array(fc.constantFrom<Kind>('good', 'duplicate', 'conflict', 'unreadable', 'no route', 'report'), {
    minLength: 2,
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(kinds, async (order) => {
      const calls = order.map((kind) => {
        const own = message({ route });
        // Where it is refused, the neighbour in the same call is not written either; in mode report it is.
        const call = {
          good: [own],
          duplicate: [own, taken],
          conflict: [own, { ...taken, body: 'Other.' }],
          unreadable: [own, message({ route, to: 'nobody' })],
          'no route': [own, message({ route: 'no-such-route' })],
          report: [own, { ...taken, body: 'Other.' }],
        }[kind];
        return { kind, own, call };
      });
      const client = await begun(database.url);
      let settled: PromiseSettledResult<EnqueueReply>[];
      try {
        settled = await Promise.allSettled(
          calls.map(({ kind, call }) =>
            producer.enqueue(client, call, { onProblem: kind === 'report' ? 'report' : 'throw' }),
          ),
        );
        await client.query('commit');
      } finally {
        await client.end();
      }
      const rows = await Promise.all(calls.map(({ own }) => bodiesOf(database.pool, own.event.id)));
      const accepted = calls.map(({ kind }) => kind === 'good' || kind === 'duplicate' || kind === 'report');
      expect(settled.map((s) => s.status === 'fulfilled')).toEqual(accepted);
      expect(rows.map((bodies) => bodies.length)).toEqual(accepted.map((ok) => (ok ? 1 : 0)));
      settled.forEach((s) => {
        if (s.status === 'rejected') expect(s.reason).toMatchObject({ code: 'SENDLEDGER_MESSAGE_REFUSED' });
      });
    }),
    { numRuns: 40 },
  );
});

test('a call whose connection is gone does not hold up the calls after it', async ({ database }) => {
  const { route } = await aRoute(database.pool);
  const client = await begun(database.url);
  client.on('error', () => undefined);
  await client.end();
  const settled = await Promise.allSettled([1, 2, 3].map(() => producer.enqueue(client, message({ route }))));
  expect(settled.map((s) => s.status)).toEqual(['rejected', 'rejected', 'rejected']);
});

describe('the entity manager', () => {
  let orm: MikroORM | undefined;
  afterAll(() => orm?.close());
  const inOrm = async (url: string, work: (em: MikroORM['em']) => Promise<void>) => {
    orm ??= await MikroORM.init({ clientUrl: url, entities: [], discovery: { warnWhenNoEntities: false } });
    await orm.em.fork().transactional((em) => work(em as MikroORM['em']));
  };

  const pairs: Readonly<Record<string, (em: MikroORM['em']) => [Transaction, Transaction]>> = {
    'one for both calls': (em) => [em, em],
    // Another object, and the same transaction.
    'a fork for the first': (em) => [em.fork({ keepTransactionContext: true }), em],
    'a fork for the second': (em) => [em, em.fork({ keepTransactionContext: true })],
  };
  for (const [what, pairOf] of Object.entries(pairs))
    test(`${what}: two calls at once take turns as well`, async ({ database }) => {
      const { route } = await aRoute(database.pool);
      const refused = await conflicting(database.pool, route);
      const good = message({ route });
      await inOrm(database.url, async (em) => {
        const [first, second] = pairOf(em);
        const settled = await Promise.allSettled([producer.enqueue(first, refused), producer.enqueue(second, good)]);
        expect(settled.map((s) => s.status)).toEqual(['rejected', 'fulfilled']);
      });
      expect(await bodiesOf(database.pool, good.event.id)).toHaveLength(1);
    });
});
