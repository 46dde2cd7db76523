import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { rowsOf } from '../../src/ledger/index.ts';
import { scene } from '../ledger/scene.ts';

const ANSWERS = ['created', 'duplicate', 'conflict', 'invalid'];

interface Answer {
  readonly ord: number;
  readonly answer: string;
  readonly message_id: string | null;
  readonly field: string | null;
  readonly reason: string | null;
}

/** A message that is good, of which a field or two will be spoiled. */
const GOOD = {
  tenant_id: 'shop',
  channel: 'sms',
  message_class: 'transactional',
  recipient: '919999999999',
  country: 'IN',
  event_type: 'order',
  event_id: 'e',
  body: 'Your order is ready',
  encoding: 'GSM7',
  segments: '1',
};
const FIELDS = [
  ...Object.keys(GOOD),
  ...['sender_id', 'event_version', 'key_template', 'key_version', 'key_step', 'key_bucket', 'ascii_encoding'],
  ...[
    'ascii_segments',
    'dlt_entity_id',
    'dlt_template_id',
    'template_id',
    'template_version',
    'template_params',
    'route',
  ],
  ...[
    'scheduled_for',
    'scheduled_tz',
    'held_by',
    'fallback',
    'submit_by',
    'campaign_id',
    'on_proven_absent',
    'state',
    'cost',
    'nobody_knows_this',
  ],
];

/** JSON text by hand: JSON.stringify could not write half a character unescaped, a NUL, or a number no double holds. */
const nasty = fc.oneof(
  fc.constantFrom(
    '"\\u0000"',
    '"a\\u0000b"',
    '"\\ud800"',
    '"\\udc00 tail"',
    '"\\ud83d\\ude00"',
    '1e400',
    '-0',
    '1e999999',
    '123456789012345678901234567890.5',
    'null',
    'true',
    '{}',
    '[]',
    '[[[[1]]]]',
    '{"a":{"b":"\\u0000"}}',
    '""',
    '" "',
    '"0"',
    '"-"',
    '"NULL"',
    '"2026-02-30T00:00:00Z"',
    '"9999-12-31T23:59:59Z"',
    '"0000-01-01T00:00:00Z"',
    '"infinity"',
    '"now"',
    '"99999999999999999999"',
    '"-1"',
    '"1e3"',
    '"٣"',
    '"otp"',
    '"replay"',
    `"${'x'.repeat(20_000)}"`,
    `"${'€'.repeat(5_000)}"`,
  ),
  fc.json({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 30 }).map((s) => JSON.stringify(s)),
);

const spoiled = fc.array(fc.tuple(fc.constantFrom(...FIELDS), nasty), { maxLength: 4 }).map((changes) => {
  const fields = new Map<string, string>(Object.entries(GOOD).map(([name, value]) => [name, JSON.stringify(value)]));
  for (const [name, json] of changes) fields.set(name, json);
  return `{${[...fields].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
});
const element = fc.oneof({ weight: 4, arbitrary: spoiled }, { weight: 1, arbitrary: nasty });

/** Runs one enqueue in a caller's transaction that has its own work before and after. */
async function inCallersTransaction(pool: pg.Pool, json: string): Promise<Answer[]> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(`insert into callers_order values ('before')`);
    // What cannot be stored is answered first; each answer names the element it is about.
    const rows = await rowsOf<Answer>(client, 'select * from sendledger.enqueue($1::json) order by ord', [json]);
    await client.query(`insert into callers_order values ('after')`);
    const { command } = await client.query('commit');
    expect(command).toBe('COMMIT');
    return rows;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

describe('enqueue, whatever it is given', () => {
  test('answers one row per element, never raises, and leaves the caller its transaction', async ({
    database: { pool },
  }) => {
    await scene(pool);
    await pool.query('create table callers_order (what text)');
    let calls = 0;
    // First as it is meant, or the first with other content has its key, and there is no duplicate of it.
    const seen = new Set((await inCallersTransaction(pool, `[${JSON.stringify(GOOD)}]`)).map((row) => row.answer));
    calls++;
    await fc.assert(
      fc.asyncProperty(fc.array(element, { maxLength: 8 }), async (elements) => {
        const rows = await inCallersTransaction(pool, `[${elements.join(',')}]`);
        calls++;
        expect(rows.map((row) => row.ord)).toEqual(elements.map((_, i) => i + 1));
        for (const row of rows) {
          seen.add(row.answer);
          expect(ANSWERS).toContain(row.answer);
          expect(row.message_id === null).toBe(row.answer === 'invalid');
          if (row.answer === 'invalid') expect([row.field, row.reason]).not.toContain(null);
        }
      }),
      { numRuns: 300 },
    );
    expect([...seen].sort()).toEqual([...ANSWERS].sort());
    expect(
      await rowsOf(pool, 'select what, count(*)::int as n from callers_order group by what order by what'),
    ).toEqual([
      { what: 'after', n: calls },
      { what: 'before', n: calls },
    ]);
    // Each key that was given away has its row, and the other way round.
    expect(
      await rowsOf(
        pool,
        `select (select count(*)::int from sendledger.message_key) - (select count(*)::int from sendledger.outbound_message) as differ,
           (select count(*)::int from sendledger.message_key k join sendledger.outbound_message m
              on m.id = k.message_id and m.created_at = k.message_created_at and m.business_key = k.business_key
              and m.tenant_id = k.tenant_id) - (select count(*)::int from sendledger.message_key) as unmatched`,
      ),
    ).toEqual([{ differ: 0, unmatched: 0 }]);
  });

  test('something that is no array of messages is one invalid answer', async ({ database: { pool } }) => {
    await pool.query('create table if not exists callers_order (what text)');
    for (const json of ['{}', 'null', '1', '"x"', 'true', JSON.stringify(GOOD)])
      expect(await inCallersTransaction(pool, json)).toMatchObject([{ ord: 1, answer: 'invalid', field: 'messages' }]);
    expect(await rowsOf(pool, 'select * from sendledger.enqueue(null)')).toMatchObject([{ answer: 'invalid' }]);
    expect(await inCallersTransaction(pool, '[]')).toEqual([]);
  });

  test('one element that cannot be stored does not spoil its neighbours', async ({ freshDatabase: { pool } }) => {
    await scene(pool);
    await pool.query('create table callers_order (what text)');
    const good = (event: string) => JSON.stringify({ ...GOOD, event_id: event });
    const bad = `{${JSON.stringify({ ...GOOD, event_id: 'bad' }).slice(1, -1)},"campaign_id":"a\\u0000b"}`;
    expect(await inCallersTransaction(pool, `[${good('1')},${bad},${good('2')},${good('1')}]`)).toMatchObject([
      { answer: 'created' },
      { answer: 'invalid', field: 'message' },
      { answer: 'created' },
      { answer: 'duplicate' },
    ]);
  });

  test('parameters nested as deep as the server reads them at all are data like any other', async ({
    freshDatabase: { pool },
  }) => {
    await scene(pool);
    await pool.query('create table callers_order (what text)');
    const nested = (depth: number) =>
      `[{${JSON.stringify({ ...GOOD, event_id: `depth ${depth}` }).slice(1, -1)},"template_params":${'['.repeat(depth)}${']'.repeat(depth)}}]`;
    // The deepest the server takes as json; deeper is refused before any function of ours is called.
    let [takes, refuses] = [1, 1_000_000];
    while (refuses - takes > 1) {
      const depth = Math.floor((takes + refuses) / 2);
      const taken = await pool.query('select $1::json is not null', [nested(depth)]).then(
        () => true,
        () => false,
      );
      if (taken) takes = depth;
      else refuses = depth;
    }
    for (const depth of [takes, Math.floor(takes * 0.95), Math.floor(takes * 0.8), Math.floor(takes / 2), 100]) {
      const rows = await inCallersTransaction(pool, nested(depth)).catch((error: Error) => [
        { depth, raised: error.message },
      ]);
      expect(rows, `depth ${depth}`).toMatchObject([{ ord: 1 }]);
    }
  });
});
