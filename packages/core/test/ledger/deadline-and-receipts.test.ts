import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import type { ReceiptStatus } from '../../src/domain/receipt.ts';
import {
  applyOutcomes,
  applyReceipts,
  claim,
  durably,
  expireUnconfirmed,
  type MarkedSubmission,
  markNext,
  type ReceiptOrigin,
  type ReceiptRecord,
  recordReceipts,
  rowsOf,
  settleAsSent,
} from '../../src/ledger/index.ts';
import { diceOf, shuffled } from './dice.ts';
import { claimRequest, marked, markRequest, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';
import { untilWaiting } from './until-waiting.ts';

const WRITERS = 8;
const ROWS = 500;
const A_REQUEST = 50;

const originOf = (s: Scene): ReceiptOrigin => ({
  routeId: s.routeId,
  provider: 'smsgatewaycenter',
  account: 'default',
  source: 'poll',
});

function record(m: MarkedSubmission, place: number, status: ReceiptStatus): ReceiptRecord {
  const row = m.rows[place];
  return {
    providerTxnId: `txn-${m.id}`,
    providerMessageId: `pm-${row?.id}`,
    recipient: row?.recipient ?? null,
    senderId: null,
    statusWord: status,
    status,
    cause: null,
    causeClass: null,
    submittedAt: null,
    deliveredAt: null,
    evidence: {},
  };
}

/** A lane whose windows are over as soon as the provider has accepted. */
async function shortWindows(pool: pg.Pool, s: Scene): Promise<void> {
  await pool.query(`update sendledger.lane set receipt_within = '1 microsecond' where route_id = $1`, [s.routeId]);
}

/** What the provider will say of a row: the eighth of them contradicts itself. */
function wordsOf(i: number): ReceiptStatus[] {
  return (
    (
      [
        ['delivered'],
        ['delivered'],
        ['failed'],
        [],
        ['open', 'delivered'],
        ['open'],
        ['delivered'],
        ['delivered', 'failed'],
      ] as ReceiptStatus[][]
    )[i % 8] ?? []
  );
}

describe('the deadline job while receipts storm in (FC-34)', () => {
  test(`${ROWS} rows, ${WRITERS} writers: a receipt is applied or stands against the deadline as a conflict, and none is lost`, async ({
    freshDatabase: database,
  }) => {
    const { pool } = database;
    const seed = Number(process.env.SENDLEDGER_SEED ?? Math.floor(Math.random() * 2 ** 31));
    const dice = diceOf(seed);
    const s = await scene(pool, { maxBatch: A_REQUEST });
    await shortWindows(pool, s);
    await enqueue(
      pool,
      Array.from({ length: ROWS }, (_, i) => ({ route: s.name, recipient: `9190${10_000_000 + i}` })),
    );
    await claim(pool, claimRequest(s));
    const submissions = await markNext(pool, markRequest(s));
    expect(submissions).toHaveLength(ROWS / A_REQUEST);
    await durably(pool, (sql) =>
      applyOutcomes(
        sql,
        submissions.map((m) => outcomeOf(m, 'accepted')),
      ),
    );
    const words = new Map<string, ReceiptStatus[]>();
    const all = submissions.flatMap((m) =>
      m.rows.flatMap((row, place) => {
        const said = wordsOf(words.size);
        words.set(row.id, said);
        return said.map((status) => record(m, place, status));
      }),
    );
    // Every record is reported twice, by readers whose pages differ.
    const steps: (() => Promise<unknown>)[] = [];
    for (let reader = 0; reader < 2; reader++) {
      const records = shuffled(all, dice);
      for (let at = 0; at < records.length; at += 25) {
        const page = records.slice(at, at + 25);
        steps.push(async () => {
          const { hashes } = await durably(writers, (sql) => recordReceipts(sql, originOf(s), page));
          await durably(writers, (sql) => applyReceipts(sql, originOf(s), hashes));
        });
      }
    }
    for (const i of submissions.keys()) {
      // Two jobs look at each of them.
      const some = [...submissions, ...submissions].slice(i, i + 2);
      steps.push(() =>
        durably(writers, (sql) =>
          expireUnconfirmed(
            sql,
            some.map((m) => m.id),
          ),
        ),
      );
    }
    const writers = new pg.Pool({ connectionString: database.url, max: WRITERS });
    try {
      const queue = shuffled(steps, dice);
      const worker = async () => {
        for (let step = queue.shift(); step !== undefined; step = queue.shift()) await step();
      };
      await Promise.all(Array.from({ length: WRITERS }, worker));
      await durably(writers, (sql) =>
        expireUnconfirmed(
          sql,
          submissions.map((m) => m.id),
        ),
      );
    } finally {
      await writers.end();
    }
    const rows = await rowsOf<{ id: string; state: string; conflict: boolean; cost: string | null }>(
      pool,
      'select id, state::text as state, conflict, cost::text as cost from sendledger.outbound_message',
    );
    const wrong = rows.filter((row) => {
      const finals = (words.get(row.id) ?? []).filter((word) => word !== 'open');
      if (row.cost !== '0.1225') return true;
      if (row.state === 'expired') return row.conflict !== finals.length > 0;
      return !finals.some((word) => word === row.state) || row.conflict !== finals.length > 1;
    });
    expect(wrong, `seed ${seed}`).toEqual([]);
    const found = new Set(rows.map((row) => `${row.state}${row.conflict ? ' in conflict' : ''}`));
    // Both sides of the race were there.
    for (const end of ['delivered', 'failed', 'expired', 'expired in conflict']) expect(found).toContain(end);
    expect(await rowsOf(pool, 'select 1 from sendledger.delivery_receipt where applied_at is null')).toEqual([]);
    expect(
      await rowsOf(
        pool,
        `select count(distinct message_id)::int as n from sendledger.review_item where kind = 'receipt_conflict'`,
      ),
    ).toEqual([{ n: rows.filter((row) => row.conflict).length }]);
  });

  test('takes its rows in the order in which everybody does: a receipt for two of them waits, and neither gives up', async ({
    freshDatabase: database,
  }) => {
    const { pool } = database;
    const s = await scene(pool);
    await shortWindows(pool, s);
    const m = only(await marked(pool, s, [{ recipient: '919000000001' }, { recipient: '919000000002' }]));
    const [first] = m.rows;
    if (first === undefined) throw new Error('two rows were expected');
    const outcome = outcomeOf(m, 'accepted');
    // The first row is accepted after the second, so that it stands behind it on its page.
    await durably(pool, (sql) =>
      applyOutcomes(sql, [
        { ...outcome, rows: outcome.rows.map((row) => (row.id === first.id ? { ...row, to: 'unknown' } : row)) },
      ]),
    );
    await durably(pool, (sql) =>
      settleAsSent(sql, [first], { reason: 'receipt', costSource: 'quote', correlation: null, windowMs: null }),
    );
    const { hashes } = await durably(pool, (sql) =>
      recordReceipts(sql, originOf(s), [record(m, 0, 'delivered'), record(m, 1, 'delivered')]),
    );
    const [holder, receipts, deadline] = [await pool.connect(), await pool.connect(), await pool.connect()];
    try {
      await holder.query('begin');
      await holder.query('select from sendledger.outbound_message where id = $1 for update', [first.id]);
      await receipts.query('begin');
      const applying = applyReceipts(receipts, originOf(s), hashes).then(() => receipts.query('commit'));
      applying.catch(() => undefined);
      expect(await untilWaiting(pool, receipts, applying)).toBe('waits');
      await deadline.query('begin');
      const expiring = expireUnconfirmed(deadline, [m.id]).then(() => deadline.query('commit'));
      expiring.catch(() => undefined);
      expect(await untilWaiting(pool, deadline, expiring)).toBe('waits');
      await holder.query('commit');
      expect((await Promise.allSettled([applying, expiring])).map((end) => end.status)).toEqual([
        'fulfilled',
        'fulfilled',
      ]);
    } finally {
      for (const client of [holder, receipts, deadline]) {
        await client.query('rollback');
        client.release();
      }
    }
    expect(
      await rowsOf(pool, 'select distinct state::text as state, conflict from sendledger.outbound_message'),
    ).toEqual([{ state: 'delivered', conflict: false }]);
  });
});
