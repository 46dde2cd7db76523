import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { expect } from 'vitest';
import {
  applyReceipts,
  durably,
  type ReceiptOrigin,
  type ReceiptRecord,
  recordReceipts,
  rowsOf,
} from '../../src/ledger/index.ts';
import { type Scene, scene } from './scene.ts';

const record = (change: Partial<ReceiptRecord>): ReceiptRecord => ({
  ...{ providerTxnId: 'txn-of-nobody', providerMessageId: null, recipient: '919000000001', senderId: null },
  ...{ statusWord: 'ODD', status: 'unmapped', cause: null, causeClass: null, submittedAt: null, deliveredAt: null },
  evidence: {},
  ...change,
});

/** Stores a receipt as one of `days` ago, looks at it, and says when the next look is, in hours; null: never. */
async function nextLook(pool: pg.Pool, s: Scene, days: number, hint: boolean, of: ReceiptRecord) {
  const origin: ReceiptOrigin = {
    ...{ routeId: s.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll', hint },
  };
  const { hashes } = await durably(pool, (sql) => recordReceipts(sql, origin, [of]));
  const client = await pool.connect();
  await client.query('begin; set local session_replication_role = replica');
  await client.query(
    `update sendledger.delivery_receipt set received_at = received_at - $2 * interval '1 day', looks = 50 where dedupe_hash = $1`,
    [hashes[0], days],
  );
  await client.query('commit');
  client.release();
  await durably(pool, (sql) => applyReceipts(sql, origin, hashes));
  const [row] = await rowsOf<{ hours: number | null }>(
    pool,
    `select case when next_look_at < 'infinity' then round(extract(epoch from next_look_at - now()) / 3600)::integer end as hours
     from sendledger.delivery_receipt where dedupe_hash = $1`,
    [hashes[0]],
  );
  return row?.hours;
}

const listed = (pool: pg.Pool) =>
  rowsOf(pool, `select 1 from sendledger.review_item where kind = 'unmatched_receipt' and resolved_at is null`);

test('a receipt that waits for its word is looked at every day and is not listed as one that matches nothing', async ({
  freshDatabase: { pool },
}) => {
  const s = await scene(pool);
  expect(await nextLook(pool, s, 3, false, record({ evidence: { n: '1' } }))).toBe(1);
  expect(await nextLook(pool, s, 8, false, record({ providerTxnId: 'txn-2' }))).toBe(24);
  expect(await nextLook(pool, s, 400, false, record({ providerTxnId: 'txn-3' }))).toBe(24);
  expect(await listed(pool)).toEqual([]);
  // One whose word is known, and a hint, whose word says nothing, wait for a message.
  const known = record({ providerTxnId: 'txn-4', status: 'delivered', statusWord: 'DELIVRD' });
  expect(await nextLook(pool, s, 8, false, known)).toBeNull();
  expect(await listed(pool)).toHaveLength(1);
  expect(await nextLook(pool, s, 8, true, record({ providerTxnId: 'txn-5' }))).toBeNull();
});
