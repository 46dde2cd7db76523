import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  durably,
  openReview,
  QUESTIONS_OF_UNKNOWN,
  type RowRef,
  resolveReview,
  resolveReviewOf,
  rowsOf,
  type Sql,
  settleAsSent,
} from '../../src/ledger/index.ts';
import { marked, only, outcomeOf } from './on-the-way.ts';
import { scene } from './scene.ts';
import { untilWaiting } from './until-waiting.ts';

/** Messages nobody knows the fate of, one a request. */
async function unknown(pool: pg.Pool, count: number): Promise<RowRef[]> {
  const s = await scene(pool, { maxBatch: 1 });
  const submissions = await marked(
    pool,
    s,
    Array.from({ length: count }, (_, i) => ({ recipient: `91987654321${i}` })),
  );
  await durably(pool, (sql) =>
    applyOutcomes(
      sql,
      submissions.map((m) => outcomeOf(m, 'ambiguous')),
    ),
  );
  return submissions.flatMap((m) => m.rows.map(({ id, createdAt }) => ({ id, createdAt })));
}

async function ask(pool: pg.Pool, kind: string, messages: readonly RowRef[], asSet = messages.length > 1) {
  const [message] = messages;
  if (message === undefined) throw new Error('nothing to ask about');
  const subject = `${kind} ${messages.map((m) => m.id).join(' ')}`;
  const listed = { messages: messages.map((m) => ({ id: m.id, created_at: m.createdAt.toISOString() })) };
  await openReview(pool, asSet ? { kind, subject, evidence: listed } : { kind, subject, message, evidence: {} });
  return only(await rowsOf<{ id: string }>(pool, 'select id from sendledger.review_item where subject = $1', [subject]))
    .id;
}

const resolutionOf = async (pool: pg.Pool, id: string) =>
  only(
    await rowsOf<{ resolution: string | null; by: string | null; note: string | null }>(
      pool,
      'select resolution, resolved_by as by, note from sendledger.review_item where id = $1',
      [id],
    ),
  );
const OPEN = { resolution: null, by: null, note: null };

describe('a decision about a set', () => {
  test('answers the other questions about its messages, and no question about anything else', async ({
    freshDatabase: database,
  }) => {
    const { pool } = database;
    const [a, b, c] = await unknown(pool, 3);
    if (!a || !b || !c) throw new Error('three were expected');
    const set = await ask(pool, 'correlation_ambiguous', [a, b]);
    const answered = [
      await ask(pool, 'absence_not_proven', [a]),
      await ask(pool, 'no_report_to_ask', [b]),
      await ask(pool, 'no_final_state', [a]),
      await ask(pool, 'absence_not_proven', [b, a]),
    ];
    const open = [
      // One of it is unknown still.
      await ask(pool, 'absence_not_proven', [b, c]),
      await ask(pool, 'no_report_to_ask', [c]),
      await ask(pool, 'receipt_conflict', [a]),
    ];
    const cli = new pg.Pool({ connectionString: database.urlFor('sendledger_cli'), max: 1 });
    const decided = await durably(cli, (sql) =>
      resolveReview(sql, { id: set, as: 'sent', by: 'asha', why: 'ticket 4711' }),
    );
    await cli.end();
    expect(decided).toMatchObject({ answer: 'resolved', moved: [{}, {}] });
    expect(await resolutionOf(pool, set)).toEqual({ resolution: 'sent', by: 'asha', note: 'ticket 4711' });
    const also = { resolution: 'sent', by: 'asha', note: `decided with review ${set}: ticket 4711` };
    for (const id of answered) expect(await resolutionOf(pool, id)).toEqual(also);
    for (const id of open) expect(await resolutionOf(pool, id)).toEqual(OPEN);
  });

  test('leave answers nothing else', async ({ database: { pool } }) => {
    const [a] = await unknown(pool, 1);
    if (!a) throw new Error('one was expected');
    const left = await ask(pool, 'correlation_ambiguous', [a], true);
    const other = await ask(pool, 'absence_not_proven', [a]);
    await durably(pool, (sql) => resolveReview(sql, { id: left, as: 'leave', by: 'asha', why: 'known outage' }));
    expect(await resolutionOf(pool, other)).toEqual(OPEN);
  });
});

test('two evidences at once for two messages of a set: the second waits, and closes its item', async ({
  database: { pool },
}) => {
  const [a, b] = await unknown(pool, 2);
  if (!a || !b) throw new Error('two were expected');
  const set = await ask(pool, 'correlation_ambiguous', [a, b]);
  const settle = async (sql: Sql, message: RowRef) => {
    await settleAsSent(sql, [message], { reason: 'x', costSource: 'quote', correlation: null, windowMs: null });
    return resolveReviewOf(sql, [message], QUESTIONS_OF_UNKNOWN, 'the provider reported it');
  };
  const [first, second] = [await pool.connect(), await pool.connect()];
  try {
    await first.query('begin');
    await second.query('begin');
    expect(await settle(first, a)).toBe(0);
    const running = settle(second, b);
    running.catch(() => undefined);
    expect(await untilWaiting(pool, second, running)).toBe('waits');
    await first.query('commit');
    expect(await running).toBe(1);
    await second.query('commit');
  } finally {
    await first.query('rollback');
    await second.query('rollback');
    first.release();
    second.release();
  }
  expect(await resolutionOf(pool, set)).toMatchObject({ resolution: 'settled_by_evidence' });
});
