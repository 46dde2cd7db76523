import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import type { ReceiptStatus } from '../../src/domain/receipt.ts';
import {
  applyOutcomes,
  applyReceipts,
  claim,
  durably,
  markNextIn,
  recordReceipts,
  rowsOf,
  sweepCancelled,
  unsweptCancellations,
} from '../../src/ledger/index.ts';
import { claimRequest, marked, markRequest, only, outcomeOf } from './on-the-way.ts';
import { type Scene, scene, stateOf } from './scene.ts';

/** A message whose first try was proven not sent, and that waits for its second. */
async function waitingAgain(pool: pg.Pool, s: Scene) {
  const first = only(await marked(pool, s));
  await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(first, 'not_sent')]));
  return only(first.rows);
}

async function receive(pool: pg.Pool, s: Scene, message: { id: string; createdAt: Date }, status: ReceiptStatus) {
  const origin = { routeId: s.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' as const };
  const record = {
    providerTxnId: 'txn-of-the-first',
    providerMessageId: `pm-${message.id}`,
    recipient: null,
    senderId: null,
    statusWord: status,
    status,
    cause: null,
    causeClass: null,
    submittedAt: null,
    deliveredAt: null,
    evidence: {},
    message,
  };
  const { hashes } = await durably(pool, (sql) => recordReceipts(sql, origin, [record]));
  return durably(pool, (sql) => applyReceipts(sql, origin, hashes));
}

describe('a message that waits to be sent again, and whose first try turns out to have been taken', () => {
  for (const status of ['open', 'delivered'] as const)
    test(`${status}: it is not sent a second time, and is paid for once`, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const message = await waitingAgain(pool, s);
      expect(await receive(pool, s, message, status)).toMatchObject({
        waiting: 1,
        successors: [{ id: message.id, createdAt: message.createdAt }],
      });
      expect(await sweepCancelled(pool, message)).toBe('cancelled');
      expect(await receive(pool, s, message, status)).toMatchObject({ billed: 1, conflicts: 1, waiting: 0 });
      const [row] = await rowsOf(
        pool,
        'select state, cost::text, conflict, billed_after_close_at is not null as late from sendledger.outbound_message where id = $1',
        [message.id],
      );
      expect(row).toEqual({ state: 'cancelled', cost: '0.1225', conflict: true, late: true });
    });

  test('a claim that comes before the sweep reads the fact', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const message = await waitingAgain(pool, s);
    await receive(pool, s, message, 'open');
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0, cancelled: 1 });
    expect(await stateOf(pool, message.id)).toBe('cancelled');
  });

  test('whoever wrote the fact and died before the sweep: it is found, also where the row was claimed already', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool);
    const message = await waitingAgain(pool, s);
    await claim(pool, claimRequest(s));
    // Stored while it was claimed: it waits. The fact is what a successor gets too.
    await pool.query(
      `insert into sendledger.cancellation (tenant_id, kind, message_id, requested_by, reason) values ('shop', 'message', $1, 'sendledger', 'x')`,
      [message.id],
    );
    const found = await unsweptCancellations(pool, 10);
    expect(found.map((row) => row.id)).toEqual([message.id]);
    for (const row of found) await sweepCancelled(pool, row);
    expect(await stateOf(pool, message.id)).toBe('cancelled');
    expect(await durably(pool, (sql) => markNextIn(sql, markRequest(s)))).toEqual([]);
    expect(await unsweptCancellations(pool, 10)).toEqual([]);
  });

  test('listed as failed it was refused, which costs nothing and holds nothing', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const message = await waitingAgain(pool, s);
    expect(await receive(pool, s, message, 'failed')).toMatchObject({ conflicts: 1, successors: [] });
    expect(await stateOf(pool, message.id)).toBe('retry');
  });
});
