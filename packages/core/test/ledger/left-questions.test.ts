import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  applyReceipts,
  durably,
  type MarkedSubmission,
  type ReceiptOrigin,
  type ReceiptRecord,
  type RowRef,
  recordReceipts,
  resolveReview,
  rowsOf,
} from '../../src/ledger/index.ts';
import { learnMessageIds } from '../../src/ledger/learn-message-ids.ts';
import type { StoredReceipt } from '../../src/ledger/match-receipts.ts';
import { marked, only, outcomeOf } from './on-the-way.ts';
import { type Scene, scene } from './scene.ts';

function record(m: MarkedSubmission, change: Partial<ReceiptRecord> = {}): ReceiptRecord {
  return {
    providerTxnId: `txn-${m.id}`,
    providerMessageId: `pm-${m.id}`,
    recipient: m.rows[0]?.recipient ?? null,
    ...{ senderId: null, statusWord: 'DELIVRD', status: 'delivered' as const, cause: null, causeClass: null },
    ...{ submittedAt: null, deliveredAt: null, evidence: {} },
    ...change,
  };
}

const originOf = (s: Scene): ReceiptOrigin => ({
  ...{ routeId: s.routeId, provider: 'smsgatewaycenter', account: s.name, source: 'poll' as const },
});

async function receive(pool: pg.Pool, s: Scene, records: readonly ReceiptRecord[]) {
  await durably(pool, async (sql) => {
    const { hashes } = await recordReceipts(sql, originOf(s), records);
    await applyReceipts(sql, originOf(s), hashes);
  });
}

/** Two messages that the provider took, or refused; the account is of this scene alone. */
async function two(pool: pg.Pool, state: 'accepted' | 'refused') {
  const s = await scene(pool, { maxBatch: 1 });
  await pool.query('update sendledger.route set account = name where id = $1', [s.routeId]);
  const [a, b] = await marked(pool, s, [{ recipient: '919000000001' }, { recipient: '919000000002' }]);
  if (!a || !b) throw new Error('two were expected');
  await durably(pool, (sql) =>
    applyOutcomes(
      sql,
      [a, b].map((m) => outcomeOf(m, state, { providerTxnId: `txn-${m.id}` })),
    ),
  );
  return { s, a, b };
}

const asked = (pool: pg.Pool, kind: string, s: Scene) =>
  rowsOf<{ id: string; resolution: string | null }>(
    pool,
    'select id, resolution from sendledger.review_item where kind = $1 and route_id = $2 order by id',
    [kind, s.routeId],
  );

async function leave(pool: pg.Pool, kind: string, s: Scene) {
  const { id } = only(await asked(pool, kind, s));
  await durably(pool, (sql) => resolveReview(sql, { id, as: 'leave', by: 'asha', why: 'known' }));
}

const LEFT = [expect.objectContaining({ resolution: 'leave' })];

describe('a question that was left as it is is not asked again by the same evidence', () => {
  test('a word that nobody mapped', async ({ database: { pool } }) => {
    const { s, a, b } = await two(pool, 'accepted');
    const odd = { status: 'unmapped' as const, statusWord: `ODD-${s.name}` };
    await receive(pool, s, [record(a, odd)]);
    await leave(pool, 'unmapped_status', s);
    await receive(pool, s, [record(b, odd)]);
    expect(await asked(pool, 'unmapped_status', s)).toEqual(LEFT);
    // Another word is another question.
    await receive(pool, s, [record(b, { ...odd, statusWord: `ODDER-${s.name}` })]);
    expect(await asked(pool, 'unmapped_status', s)).toHaveLength(2);
  });

  test('a second id of one message', async ({ database: { pool } }) => {
    const { s, a } = await two(pool, 'accepted');
    await receive(pool, s, [record(a)]);
    const second = { providerMessageId: `pm-other-${a.id}` };
    await receive(pool, s, [record(a, second)]);
    await leave(pool, 'second_provider_message', s);
    await receive(pool, s, [record(a, { ...second, evidence: { again: '1' }, statusWord: 'Delivered' })]);
    expect(await asked(pool, 'second_provider_message', s)).toEqual(LEFT);
  });

  test('an id that another message owns', async ({ database: { pool } }) => {
    const { s, a, b } = await two(pool, 'accepted');
    const shared = { providerMessageId: `pm-${a.id}` };
    // Both name it in one call, so that neither is matched by it: the first owns it.
    await receive(pool, s, [record(a, shared), record(b, shared)]);
    const [asking] = await rowsOf<{ id: string; message: RowRef }>(
      pool,
      `select id, json_build_object('id', message_id::text, 'createdAt', message_created_at) as message from sendledger.review_item
       where kind = 'provider_message_owned' and route_id = $1`,
      [s.routeId],
    );
    if (asking === undefined) throw new Error('a question was expected');
    await leave(pool, 'provider_message_owned', s);
    // As whoever applied the same evidence at the same time would.
    const ref = { id: asking.message.id, createdAt: new Date(asking.message.createdAt) };
    const receipt = { providerMessageId: shared.providerMessageId, providerTxnId: null } as StoredReceipt;
    await durably(pool, (sql) => learnMessageIds(sql, originOf(s), [{ ref, receipt }], new Map()));
    expect(await asked(pool, 'provider_message_owned', s)).toEqual(LEFT);
  });

  test('what was billed after it was closed', async ({ database: { pool } }) => {
    const { s, a } = await two(pool, 'refused');
    await receive(pool, s, [record(a)]);
    await leave(pool, 'billed_after_close', s);
    // As if it had never been billed: the same question, from the same row.
    const client = await pool.connect();
    await client.query('begin; set local session_replication_role = replica');
    await client.query(
      `update sendledger.outbound_message set cost = null, billable_units = null, cost_currency = null, cost_source = null,
         billed_after_close_at = null where submission_id = $1`,
      [a.id],
    );
    await client.query('commit');
    client.release();
    await receive(pool, s, [record(a, { statusWord: 'Delivered' })]);
    expect(await asked(pool, 'billed_after_close', s)).toEqual(LEFT);
  });
});
