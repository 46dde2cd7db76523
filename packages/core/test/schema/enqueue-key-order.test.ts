import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { rowsOf } from '../../src/ledger/index.ts';
import { scene } from '../ledger/scene.ts';
import { untilWaiting } from '../ledger/until-waiting.ts';

interface Answer {
  readonly ord: number;
  readonly answer: string;
}

const ENQUEUE = 'select ord, answer from sendledger.enqueue($1::json) order by ord';

function element(route: string, event: string, more: Readonly<Record<string, string>> = {}): string {
  return JSON.stringify({
    tenant_id: 'shop',
    channel: 'sms',
    message_class: 'transactional',
    recipient: '919999999999',
    country: 'IN',
    event_type: 'order',
    event_id: event,
    body: 'Your order is ready',
    encoding: 'GSM7',
    segments: '1',
    route,
    ...more,
  });
}

/** What sends a call to the ways other than the one set: JSON that is read and cannot be stored. */
const UNSTORABLE: Readonly<Record<string, (route: string) => string>> = {
  'a NUL': (route) => element(route, randomUUID(), { campaign_id: 'a\u0000b' }),
  'a NUL in its key': (route) => element(route, `a\u0000${randomUUID()}`),
  'half a surrogate pair': (route) =>
    element(route, randomUUID(), { campaign_id: '?' }).replace('"?"', String.raw`"\ud800"`),
  'parameters with a number that no column holds': (route) =>
    element(route, randomUUID(), { template_params: '?' }).replace('"?"', '{"n":1e999999}'),
};

const events = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

async function begun(pool: pg.Pool): Promise<pg.PoolClient> {
  const client = await pool.connect();
  await client.query('begin');
  return client;
}

/** Runs one call in a transaction of its own; answers what Postgres said, or the code of its error. */
async function call(client: pg.PoolClient, elements: readonly string[]): Promise<Answer[] | string> {
  try {
    const rows = await rowsOf<Answer>(client, ENQUEUE, [`[${elements.join(',')}]`]);
    await client.query('commit');
    return rows;
  } catch (error) {
    await client.query('rollback');
    return (error as { code?: string }).code ?? String(error);
  }
}

async function rowsPerEvent(pool: pg.Pool, of: readonly string[]): Promise<number[]> {
  const rows = await rowsOf<{ n: number }>(
    pool,
    `select (select count(*)::int from sendledger.outbound_message m where m.event_id = e.id) as n
     from unnest($1::text[]) as e(id)`,
    [of],
  );
  return rows.map((row) => row.n);
}

const countOf = (answers: Answer[] | string, answer: string) =>
  typeof answers === 'string' ? answers : answers.filter((a) => a.answer === answer).length;

describe('two calls with the same keys in opposite orders, each with an element that cannot be stored', () => {
  for (const [what, unstorable] of Object.entries(UNSTORABLE))
    for (const ends of ['rollback', 'commit'] as const)
      test(`${what}: held between them and let go by ${ends}, both end`, async ({ database: { pool } }) => {
        const { name } = await scene(pool);
        const keys = events(11);
        const good = keys.map((key) => element(name, key));
        const middle = good[5] ?? '';
        const [a, b, holder] = [await begun(pool), await begun(pool), await begun(pool)];
        try {
          // Holds the key in the middle: taken in the order given, one call would then have one half and the other the other.
          await holder.query(ENQUEUE, [`[${middle}]`]);
          const first = call(a, [unstorable(name), ...good]);
          await untilWaiting(pool, a, first);
          const second = call(b, [...good.toReversed(), unstorable(name)]);
          await untilWaiting(pool, b, second);
          await holder.query(ends);
          const answers = [await first, await second];
          const held = ends === 'commit' ? 1 : 0;
          for (const one of answers) expect(countOf(one, 'invalid')).toBe(1);
          expect(answers.map((one) => countOf(one, 'created')).sort()).toEqual([0, 11 - held]);
          expect(answers.map((one) => countOf(one, 'duplicate')).sort()).toEqual([held, 11]);
          expect(await rowsPerEvent(pool, keys)).toEqual(keys.map(() => 1));
        } finally {
          for (const client of [a, b, holder]) {
            await client.query('rollback');
            client.release();
          }
        }
      });

  test('against a call in which everything is good', async ({ database: { pool } }) => {
    const { name } = await scene(pool);
    const keys = events(11);
    const good = keys.map((key) => element(name, key));
    const bad = UNSTORABLE['a NUL']?.(name) ?? '';
    for (const [one, other] of [
      [[bad, ...good], good.toReversed()],
      [good, [...good.toReversed(), bad]],
    ] as const) {
      const [a, b, holder] = [await begun(pool), await begun(pool), await begun(pool)];
      try {
        await holder.query(ENQUEUE, [`[${good[5]}]`]);
        const first = call(a, one);
        await untilWaiting(pool, a, first);
        const second = call(b, other);
        await untilWaiting(pool, b, second);
        await holder.query('rollback');
        expect([typeof (await first), typeof (await second)]).toEqual(['object', 'object']);
      } finally {
        for (const client of [a, b, holder]) {
          await client.query('rollback');
          client.release();
        }
      }
      expect(await rowsPerEvent(pool, keys)).toEqual(keys.map(() => 1));
    }
  });
});

/** A message by its event; the bad one has none. */
interface Element {
  readonly key: string | null;
  readonly json: string;
}

test('many at once over overlapping keys: no deadlock, every good one is there once, every answer is about its element', async ({
  database: { pool },
}) => {
  const { name } = await scene(pool);
  const keys = events(60);
  const kinds = Object.values(UNSTORABLE);
  // Each call has two thirds of the keys, forwards or backwards, and its bad element somewhere else.
  const calls = Array.from({ length: 9 }, (_, i) => {
    const some = keys.filter((_key, k) => (k + i) % 3 !== 0).map((key): Element => ({ key, json: element(name, key) }));
    const bad = { key: null, json: kinds[i % kinds.length]?.(name) ?? '' };
    const all = some.toSpliced((i * 7) % some.length, 0, bad);
    return i % 2 === 0 ? all : all.toReversed();
  });
  const answers = await Promise.all(
    calls.map(async (elements) => {
      const client = await begun(pool);
      try {
        return await call(
          client,
          elements.map((e) => e.json),
        );
      } finally {
        client.release();
      }
    }),
  );
  const created = new Map<string, number>();
  answers.forEach((answer, i) => {
    if (typeof answer === 'string') throw new Error(`call ${i} ended with ${answer}`);
    const elements = calls[i] ?? [];
    expect(answer.map((a) => a.ord)).toEqual(elements.map((_, ord) => ord + 1));
    answer.forEach(({ answer: said }, at) => {
      const key = elements[at]?.key ?? null;
      expect(key === null ? ['invalid'] : ['created', 'duplicate']).toContain(said);
      if (key !== null && said === 'created') created.set(key, (created.get(key) ?? 0) + 1);
    });
  });
  expect(keys.map((key) => created.get(key))).toEqual(keys.map(() => 1));
  expect(await rowsPerEvent(pool, keys)).toEqual(keys.map(() => 1));
});
