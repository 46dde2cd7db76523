import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  applyReceipts,
  claim,
  durably,
  endPolls,
  ledgerSummary,
  type MarkedSubmission,
  markNext,
  type ReceiptRecord,
  recordReceipts,
  rowsOf,
  type SubmissionOutcome,
  takeDuePolls,
} from '../../src/ledger/index.ts';
import { enqueue, scene } from './scene.ts';

const accepted = (s: MarkedSubmission, rejected: readonly string[] = []): SubmissionOutcome => ({
  id: s.id,
  createdAt: s.createdAt,
  leaseToken: s.leaseToken,
  state: 'accepted',
  reason: 'accepted',
  proof: null,
  providerTxnId: '6305583318236810379',
  statusCode: '200',
  httpStatus: 200,
  rawReply: Buffer.from('{}'),
  pollInMs: 0,
  rows: s.rows.map((row) => ({
    id: row.id,
    createdAt: row.createdAt,
    to: rejected.includes(row.recipient) ? 'rejected' : 'submitted',
    reason: null,
    cause: 'success',
    countsAsAttempt: true,
    retryInMs: null,
  })),
});

const record = (recipient: string, messageId: string): ReceiptRecord => ({
  providerTxnId: '6305583318236810379',
  providerMessageId: messageId,
  recipient,
  senderId: null,
  statusWord: 'DELIVERED',
  status: 'delivered',
  cause: 'Success',
  causeClass: 'none',
  submittedAt: null,
  deliveredAt: new Date('2026-11-30T10:00:00Z'),
  evidence: { Status: 'DELIVERED' },
});

describe('a message from enqueue to delivered', () => {
  test('a batch of 1000 with three numbers in invalidMobile: 997 submitted and billed, 3 rejected and unbilled', async ({
    freshDatabase: { pool },
  }) => {
    const { routeId, worker, environment } = await scene(pool, { maxBatch: 1000 });
    const numbers = Array.from({ length: 1000 }, (_, i) => `9190000${String(i).padStart(5, '0')}`);
    await enqueue(
      pool,
      numbers.map((recipient) => ({ recipient })),
    );
    const lane = { routeId, messageClass: 'transactional' as const };
    const claimed = await claim(pool, { ...lane, limit: 1000, leaseMs: 20_000, workerId: worker.id });
    expect(claimed).toMatchObject({ rows: 1000, submissions: 1 });

    const [submission] = await markNext(pool, {
      ...lane,
      limit: 10,
      leaseMs: 60_000,
      environment,
      workerId: worker.id,
    });
    if (submission === undefined) throw new Error('nothing marked');
    expect(submission.rows).toHaveLength(1000);

    const refused = [numbers[3], numbers[500], numbers[999]].filter((n) => n !== undefined);
    const outcome = accepted(submission, refused);
    expect(await durably(pool, (sql) => applyOutcomes(sql, [outcome]))).toMatchObject({ rows: 1000, stale: [] });
    const afterOnce = await ledgerSummary(pool, new Date(0));
    expect(afterOnce.states).toMatchObject({ submitted: 997, rejected: 3 });
    // 997 messages of one segment at 0.1225.
    expect(afterOnce.billed).toEqual([{ currency: 'INR', cost: '122.1325', units: '997', adjusted: '0.0000' }]);
    expect(
      await rowsOf(pool, `select distinct provider_txn_id from sendledger.outbound_message where state = 'submitted'`),
    ).toEqual([{ provider_txn_id: '6305583318236810379' }]);
    expect(
      await rowsOf(
        pool,
        `select count(*)::int as n from sendledger.outbound_message where state = 'rejected' and cost is null`,
      ),
    ).toEqual([{ n: 3 }]);

    // Applying the reply twice changes nothing.
    expect(await durably(pool, (sql) => applyOutcomes(sql, [outcome]))).toMatchObject({
      rows: 0,
      submissions: [],
      stale: [submission.id],
    });
    expect(await ledgerSummary(pool, new Date(0))).toEqual(afterOnce);
  });

  test('receipts, stored first and applied once, in any number of repeats', async ({ freshDatabase: { pool } }) => {
    const { routeId, worker, environment } = await scene(pool);
    await enqueue(pool, [{ recipient: '919999999991' }, { recipient: '919999999992' }]);
    const lane = { routeId, messageClass: 'transactional' as const };
    await claim(pool, { ...lane, limit: 10, leaseMs: 20_000, workerId: worker.id });
    const [submission] = await markNext(pool, {
      ...lane,
      limit: 10,
      leaseMs: 60_000,
      environment,
      workerId: worker.id,
    });
    if (submission === undefined) throw new Error('nothing marked');
    await durably(pool, (sql) => applyOutcomes(sql, [accepted(submission)]));

    const due = await durably(pool, (sql) =>
      takeDuePolls(sql, { limit: 10, firstMs: 1000, longestMs: 60_000, accounts: ['smsgatewaycenter/default'] }),
    );
    expect(due).toMatchObject([{ providerTxnId: '6305583318236810379', size: 2 }]);
    const origin = { routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' as const };
    const records = [record('919999999991', 'a1'), record('919999999992', 'a2')];
    for (let i = 0; i < 3; i++) {
      const { hashes, fresh } = await durably(pool, (sql) => recordReceipts(sql, origin, records));
      expect(fresh).toBe(i === 0 ? 2 : 0);
      const applied = await durably(pool, (sql) => applyReceipts(sql, origin, hashes));
      expect(applied).toMatchObject({ delivered: i === 0 ? 2 : 0, failed: 0, conflicts: 0, waiting: 0 });
    }
    await durably(pool, (sql) => endPolls(sql, due));
    expect(
      await rowsOf(
        pool,
        `select state, provider_message_id, delivered_at from sendledger.outbound_message order by recipient`,
      ),
    ).toEqual([
      { state: 'delivered', provider_message_id: 'a1', delivered_at: new Date('2026-11-30T10:00:00Z') },
      { state: 'delivered', provider_message_id: 'a2', delivered_at: new Date('2026-11-30T10:00:00Z') },
    ]);
    expect(await rowsOf(pool, 'select poll_at from sendledger.submission')).toEqual([{ poll_at: null }]);
  });
});
