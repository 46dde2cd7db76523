import { describe, expect, test } from 'vitest';
import { createProducer, MessageRefused, type SqlExecutor } from '../src/index.ts';
import { message } from './message-builder.ts';

/** Answers look-ups with nothing, and remembers every statement. */
function recorder(): SqlExecutor & { statements: string[] } {
  const statements: string[] = [];
  return {
    statements,
    async query(text) {
      statements.push(text.trim().split(/\s+/).slice(0, 2).join(' '));
      return { rows: [] };
    },
  };
}

const producer = createProducer({ tenant: 'shop', redisUrl: null });
const event = { type: 't', id: '1' };

describe('every refusal that needs no database', () => {
  test.each<[name: string, change: Record<string, unknown>, field: string, reason: string]>([
    ['no recipients', { to: [] }, 'to', 'no_recipient'],
    ['an empty recipient', { to: '' }, 'to', 'no_recipient'],
    ['an empty body', { body: '' }, 'body', 'empty'],
    ['a body of 1 MB', { body: 'x'.repeat(1_000_000) }, 'body', 'too_many_segments'],
    ['1 MB elsewhere', { channel: 'whatsapp', body: 'x'.repeat(1_000_000) }, 'body', 'too_long'],
    ['NUL', { body: 'a\0' }, 'body', 'nul'],
    ['NUL in the tenant', { tenant: 'a\0' }, 'tenant', 'nul'],
    ['a lone surrogate', { event: { type: 't', id: '\ud800' } }, 'event.id', 'lone_surrogate'],
    ['an extension', { to: '+14155552671 x5' }, 'to', 'extension'],
    ['a landline for an ad', { class: 'promotional', to: '+441212345678' }, 'to', 'landline'],
    ['a doubled country code', { to: '+91919876543210' }, 'to', 'doubled_country_code'],
    ['an event id of 10 kB', { event: { type: 't', id: 'x'.repeat(10_000) } }, 'event.id', 'too_long'],
    ['a long sender', { sender: 'ABCDEFGHIJKL' }, 'sender', 'sender_shape'],
    ['a time without offset', { scheduledFor: '2099-01-01T00:00:00' }, 'scheduledFor', 'no_offset'],
    ['Invalid Date', { submitBy: new Date(Number.NaN) }, 'submitBy', 'not_a_time'],
    ['submitBy in the past', { submitBy: '2020-01-01T00:00:00Z' }, 'submitBy', 'past'],
    [
      'submitBy before the schedule',
      { scheduledFor: '2099-01-02T00:00:00Z', submitBy: '2099-01-01T00:00:00Z' },
      'submitBy',
      'before_schedule',
    ],
    ['an unknown zone', { scheduledTz: 'Mars/Olympus' }, 'scheduledTz', 'unknown_zone'],
    ['a code to be replayed', { class: 'otp', onProvenAbsent: 'replay' }, 'onProvenAbsent', 'otp_replay'],
    ['body and template', { template: { id: 't1' } }, 'body', 'body_and_template'],
    ['neither', { body: undefined }, 'body', 'missing'],
    ['an unknown template', { body: undefined, template: { id: 't1' } }, 'template.id', 'template_unknown'],
    ['a sentinel as event id', { event: { type: 't', id: 'null' } }, 'event.id', 'sentinel'],
    ['a repeated recipient', { to: ['+919876543210', '+91 98765 43210'] }, 'to[1]', 'duplicate_recipient'],
    ['a number as id', { event: { type: 't', id: 7 } }, 'event.id', 'wrong_type'],
    ['an unknown field', { submit_by: '2099-01-01T00:00:00Z' }, 'submit_by', 'unknown_field'],
  ])('%s', async (_name, change, field, reason) => {
    const tx = recorder();
    const refused = await producer.enqueue(tx, [message(), { ...message({ event }), ...change }]).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(MessageRefused);
    expect(refused).toMatchObject({
      code: 'SENDLEDGER_MESSAGE_REFUSED',
      problems: expect.arrayContaining([expect.objectContaining({ index: 1, field, reason })]),
    });
    expect(
      tx.statements.filter((statement) => statement !== 'select tenant_id,' && statement !== 'select template_id,'),
    ).toEqual([]);
  });

  test('the error names where and why, and no value', async () => {
    const refused = await producer
      .enqueue(recorder(), message({ to: '+91919876543210', body: 'SECRET' }))
      .catch((error: unknown) => error);
    expect(String(refused)).toContain('message 0, to, doubled_country_code');
    expect(JSON.stringify(refused) + String(refused)).not.toMatch(/SECRET|9876543210/);
  });
});

test('in mode report every recipient gets its answer although nothing can be written', async () => {
  const tx = recorder();
  const { results } = await producer.enqueue(
    tx,
    [message({ to: ['x', ''] }), message({ body: '', to: ['+919876543210', '+919876543211'] }), message({ to: [] })],
    { onProblem: 'report' },
  );
  expect(results.map((r) => [r.index, r.recipient, r.answer, r.reason])).toEqual([
    [0, 'x', 'invalid', 'not_a_number'],
    [0, '', 'invalid', 'empty'],
    [1, '+919876543210', 'invalid', 'empty'],
    [1, '+919876543211', 'invalid', 'empty'],
    [2, '', 'invalid', 'no_recipient'],
  ]);
});

test('nothing to enqueue asks the database nothing', async () => {
  const tx = recorder();
  expect((await producer.enqueue(tx, [])).results).toEqual([]);
  expect(tx.statements).toEqual([]);
});

test('a pool is no transaction', async () => {
  const pool = { ...recorder(), totalCount: 1, idleCount: 1 };
  await expect(producer.enqueue(pool, message())).rejects.toMatchObject({ code: 'SENDLEDGER_TRANSACTION_NEEDED' });
});

test('tenants and templates are read once a minute', async () => {
  const tx = recorder();
  const known = createProducer({ tenant: 'shop' });
  const query = tx.query.bind(tx);
  tx.query = async (text, values) => {
    await query(text, values);
    if (text.includes('sendledger.tenant')) return { rows: [{ tenant_id: 'shop', default_region: 'IN' }] };
    if (text.includes('sendledger.message_template')) {
      return {
        rows: [1, 10, 9].map((version) => ({
          template_id: 't1',
          version,
          channel: 'sms',
          message_class: 'transactional',
          body: `v${version} {{name}}`,
          variables: [{ name: 'name' }],
          sender_id: null,
          dlt_entity_id: null,
          dlt_template_id: null,
        })),
      };
    }
    return {
      rows: text.includes('sendledger.enqueue')
        ? (JSON.parse(String(values?.[0])) as { body: string }[]).map((row, i) => ({
            ord: i + 1,
            answer: 'created',
            message_id: row.body,
          }))
        : [],
    };
  };
  const fill = (version?: number) =>
    message({ body: undefined, to: '9876543210', template: { id: 't1', version, params: { name: 'Asha' } } });
  const first = await known.enqueue(tx, [fill(), fill(9)]);
  // The highest by number: 10, not 9.
  expect(first.results.map((r) => r.id)).toEqual(['v10 Asha', 'v9 Asha']);
  await known.enqueue(tx, [fill(1), fill()]);
  expect(tx.statements.filter((statement) => statement.startsWith('select t'))).toHaveLength(2);
  // A version that is not known may be new: it is asked for.
  await expect(known.enqueue(tx, fill(11))).rejects.toMatchObject({ code: 'SENDLEDGER_MESSAGE_REFUSED' });
  expect(tx.statements.filter((statement) => statement === 'select template_id,')).toHaveLength(2);
});
