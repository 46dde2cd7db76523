import { randomUUID } from 'node:crypto';
import type { Message } from '@sendledger/core';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { createProducer } from '../src/index.ts';
import { aCode, aRoute } from './ledger-fixture.ts';
import { message } from './message-builder.ts';

async function answered(pool: pg.Pool, wanted: Message, producer = createProducer({ tenant: 'shop' })) {
  const { results } = await producer.transaction(pool, (tx) => producer.enqueue(tx, wanted, { onProblem: 'report' }));
  return results[0];
}

describe('a tenant', () => {
  test('sends the classes it may, and no other; one that was never set sends all', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const tenant = `t-${randomUUID()}`;
    const ad = () => message({ tenant, route, class: 'promotional' });
    expect(await answered(database.pool, ad())).toMatchObject({ answer: 'created' });
    await database.pool.query(
      `insert into sendledger.tenant (tenant_id, allowed_classes) values ($1, '{otp,transactional}')`,
      [tenant],
    );
    expect(await answered(database.pool, ad())).toMatchObject({
      answer: 'invalid',
      field: 'class',
      reason: 'class_not_allowed',
      message: 'This tenant may not send this class.',
    });
    expect(await answered(database.pool, message({ tenant, route }))).toMatchObject({ answer: 'created' });
  });
});

describe('a one-time password', () => {
  test('without a template is refused before the database is asked', async () => {
    const producer = createProducer({ tenant: 'shop' });
    const tx = { query: async () => ({ rows: [] }) };
    const code = message({ class: 'otp', body: 'Your code is 482915' });
    const { results } = await producer.enqueue(tx, code, { onProblem: 'report' });
    expect(results).toMatchObject([
      {
        answer: 'invalid',
        field: 'template',
        reason: 'otp_needs_template',
        message: 'A one-time password needs a registered template of class otp.',
      },
    ]);
  });

  test('whose template was retired meanwhile is refused by the database, by the same name', async ({
    freshDatabase: { pool },
  }) => {
    const { route } = await aRoute(pool);
    const producer = createProducer({ tenant: 'shop' });
    const code = async () => message({ route, ...(await aCode(pool, 'Your code is 482915')) });
    expect(await answered(pool, await code(), producer)).toMatchObject({ answer: 'created' });
    await pool.query('update sendledger.message_template set retired_at = now()');
    // The producer still remembers it.
    expect(await answered(pool, await code(), producer)).toMatchObject({
      answer: 'invalid',
      field: 'template',
      reason: 'otp_needs_template',
    });
  });

  test('is worth as long as its template says that the code lives, unless it says so itself', async ({
    freshDatabase: { pool },
  }) => {
    const { route } = await aRoute(pool);
    const code = await aCode(pool, 'Your code is 482915');
    await pool.query(`update sendledger.message_template set valid_for_s = 90 where message_class = 'otp'`);
    const submitBy = new Date(Date.now() + 45_000);
    for (const [more, seconds] of [
      [{}, 90],
      [{ submitBy }, 45],
    ] as const) {
      const { id } = (await answered(pool, message({ route, ...code, ...more }))) ?? {};
      const { rows } = await pool.query(
        'select extract(epoch from submit_by - created_at)::float as worth from sendledger.outbound_message where id = $1',
        [id],
      );
      expect(Math.abs(Number(rows[0]?.worth) - seconds)).toBeLessThanOrEqual(10);
    }
  });

  test('follows by a template of its class too', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const first = await aCode(database.pool, 'Your code is 482915');
    const wanted = (template: string) =>
      message({ route, ...first, fallback: [{ route, template: { id: template } }] });
    expect(await answered(database.pool, wanted('code'))).toMatchObject({ answer: 'created' });
    await database.pool.query(
      `insert into sendledger.message_template (template_id, version, channel, message_class, body, variables)
       values ('not-a-code', 1, 'sms', 'transactional', '{{text}}', '[{"name":"text"}]') on conflict do nothing`,
    );
    expect(await answered(database.pool, wanted('not-a-code'))).toMatchObject({
      answer: 'invalid',
      field: 'fallback[0].template.id',
      reason: 'template_class',
    });
  });
});
