import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import type { ReceiptStatus } from '../../src/domain/receipt.ts';
import {
  applyOutcomes,
  applyReceipts,
  claim,
  durably,
  type MarkedSubmission,
  markNext,
  RECEIPTS_AT_ONCE,
  type ReceiptOrigin,
  type ReceiptRecord,
  recordReceipts,
  rowsOf,
} from '../../src/ledger/index.ts';
import { claimRequest, markRequest, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

const MANY = 5_000;

const originOf = (s: Scene): ReceiptOrigin => ({
  routeId: s.routeId,
  provider: 'smsgatewaycenter',
  account: 'default',
  source: 'poll',
});

/** One request of `count` recipients that the provider accepted. */
async function accepted(pool: pg.Pool, s: Scene, count: number): Promise<MarkedSubmission> {
  const messages = Array.from({ length: count }, (_, i) => ({ route: s.name, recipient: `9190${10_000_000 + i}` }));
  for (let at = 0; at < count; at += 1_000) await enqueue(pool, messages.slice(at, at + 1_000));
  await claim(pool, claimRequest(s, 'transactional', count));
  const submission = only(await markNext(pool, markRequest(s)));
  await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'accepted')]));
  return submission;
}

/** Three words that take turns, with causes and times of their own, so that a value in the wrong row shows. */
function recordOf(submission: MarkedSubmission, i: number): ReceiptRecord {
  const status = (['delivered', 'failed', 'delivered', 'open'] satisfies ReceiptStatus[])[i % 4] ?? 'open';
  return {
    providerTxnId: `txn-${submission.id}`,
    providerMessageId: `pm-${submission.id}-${i}`,
    recipient: submission.rows[i]?.recipient ?? null,
    senderId: null,
    statusWord: status,
    status,
    cause: status === 'failed' ? `cause ${i % 7}` : null,
    causeClass: status === 'failed' ? `class_${i % 5}` : null,
    submittedAt: null,
    deliveredAt: status === 'delivered' ? new Date(1_760_000_000_000 + i * 1_000) : null,
    evidence: {},
  };
}

async function expectEachInItsRow(pool: pg.Pool, submission: MarkedSubmission): Promise<void> {
  const rows = await rowsOf<{
    id: string;
    state: string;
    pm: string;
    cause: string | null;
    reason: string | null;
    delivered: Date | null;
  }>(
    pool,
    `select id, state, provider_message_id as pm, provider_cause as cause, state_reason as reason, delivered_at as delivered
     from sendledger.outbound_message where submission_id = $1`,
    [submission.id],
  );
  const found = new Map(rows.map(({ id, ...row }) => [id, row]));
  const wrong = submission.rows.filter(({ id }, i) => {
    const { status, cause, causeClass, deliveredAt, providerMessageId } = recordOf(submission, i);
    const wanted = {
      state: status === 'open' ? 'submitted' : status,
      pm: providerMessageId,
      cause,
      reason: causeClass,
      delivered: deliveredAt,
    };
    return JSON.stringify(found.get(id)) !== JSON.stringify(wanted);
  });
  expect(wrong).toEqual([]);
  expect(rows).toHaveLength(submission.rows.length);
}

describe(`${MANY} receipts of one transaction`, () => {
  test('all apply in chunks, each to its own row, and a second time to none', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { maxBatch: MANY });
    const submission = await accepted(pool, s, MANY);
    // A report has its own order.
    const records = submission.rows.map((_, i) => recordOf(submission, i)).toReversed();
    const total = { fresh: 0, delivered: 0, failed: 0, conflicts: 0, waiting: 0 };
    const readAll = async () => {
      for (let at = 0; at < records.length; at += RECEIPTS_AT_ONCE) {
        const some = records.slice(at, at + RECEIPTS_AT_ONCE);
        const { hashes, fresh } = await durably(pool, (sql) => recordReceipts(sql, originOf(s), some));
        const applied = await durably(pool, (sql) => applyReceipts(sql, originOf(s), hashes));
        total.fresh += fresh;
        for (const effect of ['delivered', 'failed', 'conflicts', 'waiting'] as const) total[effect] += applied[effect];
      }
    };
    await readAll();
    expect(total).toEqual({ fresh: MANY, delivered: MANY / 2, failed: MANY / 4, conflicts: 0, waiting: 0 });
    await expectEachInItsRow(pool, submission);
    await readAll();
    expect(total).toEqual({ fresh: MANY, delivered: MANY / 2, failed: MANY / 4, conflicts: 0, waiting: 0 });
    expect(
      await rowsOf(
        pool,
        `select count(*)::int as stored, count(applied_at)::int as applied, count(distinct message_id)::int as rows
         from sendledger.delivery_receipt`,
      ),
    ).toEqual([{ stored: MANY, applied: MANY, rows: MANY }]);
    expect(await rowsOf(pool, 'select kind from sendledger.review_item')).toEqual([]);
  });
});

test('one more than a chunk, in one call', async ({ freshDatabase: { pool } }) => {
  const s = await scene(pool, { maxBatch: MANY });
  const submission = await accepted(pool, s, RECEIPTS_AT_ONCE + 1);
  const records = submission.rows.map((_, i) => recordOf(submission, i));
  const { hashes } = await durably(pool, (sql) => recordReceipts(sql, originOf(s), records));
  expect(await durably(pool, (sql) => applyReceipts(sql, originOf(s), hashes))).toMatchObject({ waiting: 0 });
  await expectEachInItsRow(pool, submission);
});
