import { randomUUID } from 'node:crypto';
import type { Message } from '@sendledger/core';
import { addTemplate } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { createProducer } from '../src/index.ts';
import { aRoute } from './ledger-fixture.ts';
import { message } from './message-builder.ts';

const TEMPLATE = {
  version: '1',
  channel: 'sms' as const,
  messageClass: 'transactional' as const,
  body: 'Order {{order}} is ready.',
  variables: [{ name: 'order' }],
  senderId: null,
  dltEntityId: null,
  dltTemplateId: null,
};

async function enqueued(pool: pg.Pool, wanted: Message, producer = createProducer({ tenant: 'shop' })) {
  const { results } = await producer.transaction(pool, (tx) => producer.enqueue(tx, wanted, { onProblem: 'report' }));
  const { rows } = await pool.query(
    `select f.step, f.channel, r.name as route, f.sender_id, f.body, f.segments, f.template_id, f.template_version, f.template_params,
       extract(epoch from f.after)::integer as after_s, f.may_duplicate, m.fallback_step
     from sendledger.outbound_message m
     join sendledger.fallback f on f.tenant_id = m.tenant_id and f.business_key = m.business_key
     join sendledger.route r on r.id = f.route_id
     where m.event_id = $1 order by f.step`,
    [wanted.event.id],
  );
  return { result: results[0], steps: rows };
}

describe('the chain of a message', () => {
  test('is kept beside it, ready to be sent', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const { route: backup } = await aRoute(database.pool);
    const wanted = message({
      route,
      fallback: [
        { route: backup, body: 'x'.repeat(161), sender: 'BACKUP' },
        { route, body: 'Last try.', afterSeconds: 600, mayDuplicate: true },
      ],
    });
    const { result, steps } = await enqueued(database.pool, wanted);
    expect(result).toMatchObject({ answer: 'created' });
    expect(steps).toMatchObject([
      {
        step: 1,
        route: backup,
        sender_id: 'BACKUP',
        segments: 2,
        after_s: null,
        may_duplicate: false,
        fallback_step: 1,
      },
      { step: 2, route, body: 'Last try.', segments: 1, after_s: 600, may_duplicate: true },
    ]);
  });

  test('whose route is none is refused by the database, at the fallback', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const { result, steps } = await enqueued(
      database.pool,
      message({ route, fallback: [{ route: 'nope', body: 'x' }] }),
    );
    expect(result).toMatchObject({ answer: 'invalid', field: 'fallback', reason: 'refused_by_database' });
    expect(steps).toEqual([]);
  });

  test('is one for each recipient', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const wanted = message({ route, to: ['+919876543210', '+919876543211'], fallback: [{ route, body: 'x' }] });
    expect((await enqueued(database.pool, wanted)).steps).toHaveLength(2);
  });
});

describe('the chain of a template', () => {
  test('is used where the message says nothing, with the templates it names; `[]` switches it off', async ({
    database,
  }) => {
    const { pool } = database;
    const { route } = await aRoute(pool);
    const [first, next] = [`first-${randomUUID()}`, `next-${randomUUID()}`];
    await addTemplate(pool, { ...TEMPLATE, id: next, body: 'Again: order {{order}}.' });
    await addTemplate(pool, { ...TEMPLATE, id: next, version: '2', body: 'Newer: order {{order}}.' });
    const chain = [{ template: { id: next, version: 1 }, route, afterSeconds: 60, mayDuplicate: true }];
    const registered = { ...TEMPLATE, id: first, fallback: [...chain, { template: { id: next }, route }] };
    expect(await addTemplate(pool, registered)).toBe('added');
    expect(await addTemplate(pool, registered)).toBe('same');
    expect(await addTemplate(pool, { ...registered, fallback: chain })).toBe('differs');

    const template = { id: first, params: { order: '7' } };
    const { result, steps } = await enqueued(pool, message({ route, body: undefined, template }));
    expect(result).toMatchObject({ answer: 'created' });
    expect(steps).toMatchObject([
      { body: 'Again: order 7.', template_id: next, template_version: 1, template_params: { order: '7' }, after_s: 60 },
      { body: 'Newer: order 7.', template_version: 2, after_s: null, may_duplicate: false },
    ]);
    expect((await enqueued(pool, message({ route, body: undefined, template, fallback: [] }))).steps).toEqual([]);
    // The same again is a duplicate, and its chain is there once.
    const wanted = message({ route, body: undefined, template });
    await enqueued(pool, wanted);
    const again = await enqueued(pool, wanted);
    expect(again).toMatchObject({ result: { answer: 'duplicate' }, steps: [{ step: 1 }, { step: 2 }] });
  });

  test('that names a template nobody registered refuses the message, which may say otherwise', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const id = `first-${randomUUID()}`;
    await addTemplate(database.pool, { ...TEMPLATE, id, fallback: [{ template: { id: 'nobody-registered-it' } }] });
    const wanted = () => message({ route, body: undefined, template: { id, params: { order: '7' } } });
    expect((await enqueued(database.pool, wanted())).result).toMatchObject({
      answer: 'invalid',
      field: 'fallback[0].template.id',
      reason: 'template_unknown',
    });
    const other = { ...wanted(), fallback: [{ route, body: 'x' }] };
    expect((await enqueued(database.pool, other)).result).toMatchObject({ answer: 'created' });
  });
});

test('templates of steps are read once a minute, too', async ({ database }) => {
  const { pool } = database;
  const { route } = await aRoute(pool);
  const [first, next] = [`first-${randomUUID()}`, `next-${randomUUID()}`];
  await addTemplate(pool, { ...TEMPLATE, id: next });
  await addTemplate(pool, { ...TEMPLATE, id: first, fallback: [{ template: { id: next }, route }] });
  const producer = createProducer({ tenant: 'shop' });
  const template = { id: first, params: { order: '7' } };
  const statements: string[] = [];
  for (let i = 0; i < 3; i++)
    await producer.transaction(pool, (tx) =>
      producer.enqueue(
        {
          query: (text, values) => {
            statements.push(text.trim().split(' ').slice(0, 2).join(' '));
            return tx.query(text, values);
          },
        },
        message({ route, body: undefined, template }),
      ),
    );
  expect(statements.filter((statement) => statement === 'select template_id,')).toHaveLength(2);
});
