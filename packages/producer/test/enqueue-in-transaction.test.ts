import { randomUUID } from 'node:crypto';
import { MikroORM } from '@mikro-orm/postgresql';
import { businessKey } from '@sendledger/core';
import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect, vi } from 'vitest';
import { createProducer, type SqlExecutor } from '../src/index.ts';
import { aRoute, begun, bodiesOf } from './ledger-fixture.ts';
import { message } from './message-builder.ts';

const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN', redisUrl: null });

describe('one key, made from the event and not by a worker (FC-05)', () => {
  test('64 at once on 64 connections make one row, and all are told its id', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const wanted = message({ route });
    const clients = await Promise.all(Array.from({ length: 64 }, () => begun(database.url)));
    try {
      const results = await Promise.all(
        clients.map(async (client) => {
          const reply = await producer.enqueue(client, wanted);
          await client.query('commit');
          return reply.results[0];
        }),
      );
      expect(await bodiesOf(database.pool, wanted.event.id)).toHaveLength(1);
      expect(results.filter((result) => result?.answer === 'created')).toHaveLength(1);
      expect(results.filter((result) => result?.answer === 'duplicate')).toHaveLength(63);
      expect(new Set(results.map((result) => result?.id)).size).toBe(1);
      expect(new Set(results.map((result) => result?.attemptKey)).size).toBe(1);
      expect(new Set(results.map((result) => result?.createdAt)).size).toBe(1);
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  });

  test('with other content is a conflict, and the caller commits its own row', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const wanted = message({ route });
    await database.pool.query('create table if not exists app_order (id text primary key)');
    const order = randomUUID();
    const first = await producer.transaction(database.pool, (tx) => producer.enqueue(tx, wanted));

    const client = await begun(database.url);
    try {
      await client.query('insert into app_order values ($1)', [order]);
      await expect(producer.enqueue(client, [message({ route }), { ...wanted, body: 'Other.' }])).rejects.toMatchObject(
        {
          code: 'SENDLEDGER_MESSAGE_REFUSED',
          problems: [{ index: 1, to: 0, reason: 'conflict', id: first.results[0]?.id }],
        },
      );
      await client.query('commit');
    } finally {
      await client.end();
    }
    expect((await database.pool.query('select 1 from app_order where id = $1', [order])).rowCount).toBe(1);
    expect(await bodiesOf(database.pool, wanted.event.id)).toEqual(['Your order is on its way.']);
  });

  test('is the one that businessKey computes', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const wanted = message({
      route,
      tenant: 'späti',
      key: { step: '2', bucket: 'a|b' },
      event: { type: 'é|:', id: randomUUID() },
    });
    await producer.transaction(database.pool, (tx) => producer.enqueue(tx, wanted));
    const { rows } = await database.pool.query(
      'select business_key from sendledger.outbound_message where event_id = $1',
      [wanted.event.id],
    );
    expect(rows).toEqual([
      {
        business_key: businessKey({
          tenantId: 'späti',
          eventType: 'é|:',
          eventId: wanted.event.id,
          recipient: '919876543210',
          step: '2',
          bucket: 'a|b',
        }),
      },
    ]);
  });

  test('differs between reminder 1 and 2; the same reminder again is a duplicate', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const base = message({ route });
    const answers = [];
    for (const step of ['reminder-1', 'reminder-2', 'reminder-1', 'reminder-2']) {
      const { results } = await producer.transaction(database.pool, (tx) =>
        producer.enqueue(tx, { ...base, key: { step } }),
      );
      answers.push(results[0]?.answer);
    }
    expect(answers).toEqual(['created', 'created', 'duplicate', 'duplicate']);
    expect(await bodiesOf(database.pool, base.event.id)).toHaveLength(2);
  });

  test('is the same over another channel: a fallback is no second message', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    await database.pool.query(
      `with r as (insert into sendledger.route (name, provider, channel, account) values ($1, 'sim', 'whatsapp', $1) returning id)
       insert into sendledger.lane (route_id, message_class, submit_within, receipt_within)
       select id, 'transactional', interval '1 hour', interval '1 day' from r`,
      [`wa-${route}`],
    );
    const base = message({ route });
    await producer.transaction(database.pool, (tx) => producer.enqueue(tx, base));
    const { results } = await producer.transaction(database.pool, (tx) =>
      producer.enqueue(tx, { ...base, channel: 'whatsapp', route: `wa-${route}` }),
    );
    expect(results[0]?.answer).toBe('duplicate');
  });
});

describe('a call with a bad message', () => {
  test('writes nothing of it by default, and the transaction goes on', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const [good, later] = [message({ route }), message({ route })];
    await producer.transaction(database.pool, async (tx) => {
      await expect(producer.enqueue(tx, [good, message({ route, to: '+91919876543210' })])).rejects.toMatchObject({
        code: 'SENDLEDGER_MESSAGE_REFUSED',
      });
      await expect(producer.enqueue(tx, [good, message({ route: 'no-such-route' })])).rejects.toMatchObject({
        problems: [{ index: 1, field: 'route', reason: 'refused_by_database' }],
      });
      await producer.enqueue(tx, later);
    });
    expect(await bodiesOf(database.pool, good.event.id)).toEqual([]);
    expect(await bodiesOf(database.pool, later.event.id)).toHaveLength(1);
  });

  test('writes the good ones in mode report', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const taken = message({ route });
    await producer.transaction(database.pool, (tx) => producer.enqueue(tx, taken));
    const good = message({ route, to: ['+919876543210', 'x', '+919876543211'] });
    const { results } = await producer.transaction(database.pool, (tx) =>
      producer.enqueue(
        tx,
        [message({ route, body: '' }), good, { ...taken, body: 'Other.' }, message({ route: 'no-such-route' }), taken],
        {
          onProblem: 'report',
        },
      ),
    );
    expect(results.map((r) => [r.index, r.recipient, r.answer, r.reason, r.id !== undefined])).toEqual([
      [0, '+919876543210', 'invalid', 'empty', false],
      [1, '919876543210', 'created', undefined, true],
      [1, 'x', 'invalid', 'not_a_number', false],
      [1, '919876543211', 'created', undefined, true],
      [2, '919876543210', 'conflict', 'conflict', true],
      [3, '919876543210', 'invalid', 'refused_by_database', false],
      [4, '919876543210', 'duplicate', undefined, true],
    ]);
    expect(await bodiesOf(database.pool, good.event.id)).toHaveLength(2);
  });
});

describe('the transaction is the caller’s', () => {
  test('its rollback leaves no row', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const wanted = message({ route });
    const client = await begun(database.url);
    try {
      await producer.enqueue(client, wanted);
      await client.query('rollback');
    } finally {
      await client.end();
    }
    expect(await bodiesOf(database.pool, wanted.event.id)).toEqual([]);
  });

  test('a client outside a transaction is refused by name', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await expect(producer.enqueue(client, message({ route }))).rejects.toMatchObject({
        code: 'SENDLEDGER_TRANSACTION_NEEDED',
      });
    } finally {
      await client.end();
    }
  });

  test('a commit that Postgres turned into a rollback is an error', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const wanted = message({ route });
    await expect(
      producer.transaction(database.pool, async (tx) => {
        await producer.enqueue(tx, wanted);
        await tx.query('select 1/0').catch(() => undefined);
      }),
    ).rejects.toMatchObject({ code: 'SENDLEDGER_COMMIT_ROLLED_BACK' });
    expect(await bodiesOf(database.pool, wanted.event.id)).toEqual([]);
  });

  test('a database without the schema is named', async ({ freshDatabase }) => {
    await freshDatabase.pool.query('drop schema sendledger cascade');
    await expect(
      producer.transaction(freshDatabase.pool, (tx) => createProducer({}).enqueue(tx, message({ tenant: 'a' }))),
    ).rejects.toMatchObject({ code: 'SENDLEDGER_MIGRATION_MISSING' });
  });
});

test('under REPEATABLE READ a key taken meanwhile is 40001, as the guide says', async ({ database }) => {
  const { route } = await aRoute(database.pool);
  const wanted = message({ route });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query('begin isolation level repeatable read');
    await client.query('select 1 from sendledger.tenant');
    await producer.transaction(database.pool, (tx) => producer.enqueue(tx, wanted));
    await expect(producer.enqueue(client, wanted)).rejects.toMatchObject({ code: '40001' });
  } finally {
    await client.end();
  }
});

test('a secret is in the text that is sent, and in no stored parameter', async ({ database }) => {
  const { route } = await aRoute(database.pool);
  const id = `otp-${randomUUID()}`;
  await database.pool.query(
    `insert into sendledger.message_template (template_id, version, channel, message_class, body, variables)
     values ($1, 3, 'sms', 'otp', '{{code}} for {{shop}}', '[{"name":"code","secret":true},{"name":"shop"}]')`,
    [id],
  );
  const wanted = message({
    route,
    class: 'otp',
    body: undefined,
    template: { id, params: { code: '482915', shop: 'Acme' } },
  });
  await producer.transaction(database.pool, (tx) => producer.enqueue(tx, wanted));
  const { rows } = await database.pool.query(
    'select body, template_id, template_version, template_params, on_proven_absent from sendledger.outbound_message where event_id = $1',
    [wanted.event.id],
  );
  expect(rows).toEqual([
    {
      body: '482915 for Acme',
      template_id: id,
      template_version: 3,
      template_params: { shop: 'Acme' },
      on_proven_absent: 'stop',
    },
  ]);
});

describe('whatever the client', () => {
  test('as the producer’s own role, which may read no message', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const wanted = message({ route });
    const client = await begun(database.urlFor('sendledger_producer'));
    try {
      const { results } = await producer.enqueue(client, wanted);
      expect(results[0]?.answer).toBe('created');
      await client.query('commit');
      await expect(client.query('select 1 from sendledger.outbound_message')).rejects.toMatchObject({ code: '42501' });
    } finally {
      await client.end();
    }
    expect(await bodiesOf(database.pool, wanted.event.id)).toHaveLength(1);
  });

  test('a bare object with query', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const wanted = message({ route });
    const client = await begun(database.url);
    const bare: SqlExecutor = { query: async (text, values) => ({ rows: (await client.query(text, values)).rows }) };
    try {
      expect((await producer.enqueue(bare, wanted)).results[0]?.answer).toBe('created');
      await client.query('commit');
    } finally {
      await client.end();
    }
    expect(await bodiesOf(database.pool, wanted.event.id)).toHaveLength(1);
  });

  test('a MikroORM entity manager, in its own transaction only', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    await database.pool.query(
      `insert into sendledger.message_template (template_id, version, channel, message_class, body, variables)
       values ('orm', 1, 'sms', 'transactional', 'Hello {{name}}', '[{"name":"name","maxLength":10}]') on conflict do nothing`,
    );
    const orm = await MikroORM.init({
      clientUrl: database.url,
      entities: [],
      discovery: { warnWhenNoEntities: false },
    });
    try {
      const [kept, dropped, conflicting] = [message({ route }), message({ route }), message({ route })];
      const template = message({ route, body: undefined, template: { id: 'orm', params: { name: 'Asha' } } });
      await expect(producer.enqueue(orm.em.fork(), kept)).rejects.toMatchObject({
        code: 'SENDLEDGER_TRANSACTION_NEEDED',
      });
      await orm.em.fork().transactional(async (em) => {
        const { results } = await producer.enqueue(em, [kept, template, conflicting]);
        expect(results.map((result) => result.answer)).toEqual(['created', 'created', 'created']);
        expect(results[0]?.id).toMatch(/^\d+$/);
        // Not visible from outside: the row is in the entity manager's transaction.
        expect(await bodiesOf(database.pool, kept.event.id)).toEqual([]);
        await expect(producer.enqueue(em, { ...conflicting, body: 'Other.' })).rejects.toMatchObject({
          code: 'SENDLEDGER_MESSAGE_REFUSED',
        });
      });
      await orm.em
        .fork()
        .transactional(async (em) => {
          await producer.enqueue(em, dropped);
          throw new Error('the order failed');
        })
        .catch(() => undefined);
      expect(await bodiesOf(database.pool, kept.event.id)).toHaveLength(1);
      expect(await bodiesOf(database.pool, template.event.id)).toEqual(['Hello Asha']);
      expect(await bodiesOf(database.pool, dropped.event.id)).toEqual([]);
    } finally {
      await orm.close(true);
    }
  });
});

test('a call of thousands is written whole, in several statements, answers in order', async ({ database }) => {
  const { route } = await aRoute(database.pool);
  const to = Array.from({ length: 2500 }, (_, i) => `+9198765${String(i).padStart(5, '0')}`);
  const wanted = message({ route, to });
  const { results } = await producer.transaction(database.pool, (tx) => producer.enqueue(tx, wanted));
  expect(results.map((result) => `+${result.recipient}`)).toEqual(to);
  expect(results.every((result) => result.answer === 'created')).toBe(true);
  expect(await bodiesOf(database.pool, wanted.event.id)).toHaveLength(2500);
});

test('two calls of thousands with the same keys in opposite order do not deadlock', async ({ database }) => {
  const { route } = await aRoute(database.pool);
  const to = Array.from({ length: 2000 }, (_, i) => `+9198766${String(i).padStart(5, '0')}`);
  const wanted = message({ route, to });
  let first = 0;
  /** Holds each call after its first statement until both have written one, or the other is plainly waiting for a key. */
  const inStep = (client: pg.Client): SqlExecutor => {
    let statements = 0;
    return {
      async query(text, values) {
        const { rows } = await client.query(text, values);
        if (text.includes('sendledger.enqueue(') && ++statements === 1) {
          first += 1;
          await vi.waitUntil(() => first === 2, { timeout: 500 }).catch(() => undefined);
        }
        return { rows };
      },
    };
  };
  const clients = await Promise.all([begun(database.url), begun(database.url)]);
  try {
    const replies = await Promise.all(
      clients.map(async (client, i) => {
        const reply = await producer.enqueue(inStep(client), { ...wanted, to: i === 0 ? to : to.toReversed() });
        await client.query('commit');
        return reply.results;
      }),
    );
    expect(replies.flat().filter((result) => result.answer === 'created')).toHaveLength(2000);
    expect(await bodiesOf(database.pool, wanted.event.id)).toHaveLength(2000);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
});
