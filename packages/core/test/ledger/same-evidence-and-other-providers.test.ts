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
  recordReceipts,
  rowsOf,
} from '../../src/ledger/index.ts';
import { marked, only, outcomeOf } from './on-the-way.ts';
import { type Scene, scene, stateOf } from './scene.ts';

const originOf = (s: Scene, provider = 'smsgatewaycenter'): ReceiptOrigin => ({
  routeId: s.routeId,
  provider,
  account: 'default',
  source: 'poll',
});

function record(change: Partial<ReceiptRecord> = {}): ReceiptRecord {
  return {
    providerTxnId: 'txn-1',
    providerMessageId: 'pm-1',
    recipient: '919000000001',
    senderId: null,
    statusWord: 'DELIVRD',
    status: 'delivered',
    cause: null,
    causeClass: null,
    submittedAt: null,
    deliveredAt: null,
    evidence: {},
    ...change,
  };
}

/** A message that the provider accepted under `txn`. */
async function accepted(pool: pg.Pool, s: Scene, txn = 'txn-1', recipient = '919000000001'): Promise<MarkedSubmission> {
  const m = only(await marked(pool, s, [{ recipient }]));
  await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(m, 'accepted', { providerTxnId: txn })]));
  return m;
}

const receive = (pool: pg.Pool, origin: ReceiptOrigin, records: readonly ReceiptRecord[]) =>
  durably(pool, async (sql) => {
    const { hashes, fresh } = await recordReceipts(sql, origin, records);
    return { fresh, stored: hashes.length, ...(await applyReceipts(sql, origin, hashes)) };
  });

const messageOf = (m: MarkedSubmission) => m.rows[0]?.id ?? '';
const stored = (pool: pg.Pool) =>
  rowsOf<{ status: string; applied: boolean }>(
    pool,
    'select status, applied_at is not null as applied from sendledger.delivery_receipt order by id',
  );

describe('the same evidence twice in one call', () => {
  test('is one receipt, whatever stands between, and moves its row once', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    const m = await accepted(pool, s);
    const other = await accepted(pool, s, 'txn-2', '919000000002');
    const second = record({ providerTxnId: 'txn-2', providerMessageId: 'pm-2', recipient: '919000000002' });
    // The raw record and our reading of the sender are no part of what makes it the same evidence.
    const again = record({ evidence: { page: '2' }, senderId: 'SHOPIN' });
    expect(await receive(pool, originOf(s), [record(), second, again, record()])).toMatchObject({
      fresh: 2,
      stored: 2,
      delivered: 2,
      failed: 0,
      conflicts: 0,
      waiting: 0,
    });
    expect([await stateOf(pool, messageOf(m)), await stateOf(pool, messageOf(other))]).toEqual([
      'delivered',
      'delivered',
    ]);
    expect(await stored(pool)).toHaveLength(2);
  });

  test('with a word that is known only the second time is stored as the better one', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool);
    const m = await accepted(pool, s);
    expect(await receive(pool, originOf(s), [record({ status: 'unmapped' }), record()])).toMatchObject({
      fresh: 1,
      delivered: 1,
    });
    expect(await stateOf(pool, messageOf(m))).toBe('delivered');
  });
});

describe('two routes of two providers whose accounts have one name', () => {
  async function twoProviders(pool: pg.Pool) {
    const [ours, theirs] = [await scene(pool), await scene(pool)];
    await pool.query(`update sendledger.route set provider = 'another' where id = $1`, [theirs.routeId]);
    // Same transaction id, same number: only the provider tells them apart.
    return { ours, theirs, mine: await accepted(pool, ours), foreign: await accepted(pool, theirs) };
  }

  test('the same transaction and message id move each its own row', async ({ freshDatabase: { pool } }) => {
    const { ours, theirs, mine, foreign } = await twoProviders(pool);
    expect(await receive(pool, originOf(ours), [record()])).toMatchObject({ fresh: 1, delivered: 1 });
    expect([await stateOf(pool, messageOf(mine)), await stateOf(pool, messageOf(foreign))]).toEqual([
      'delivered',
      'submitted',
    ]);
    // Word for word the same, from the other provider: new evidence, and of another row.
    expect(await receive(pool, originOf(theirs, 'another'), [record()])).toMatchObject({
      fresh: 1,
      delivered: 1,
      conflicts: 0,
      waiting: 0,
    });
    expect(await stateOf(pool, messageOf(foreign))).toBe('delivered');
    expect(
      await rowsOf(pool, 'select account, message_id from sendledger.provider_message order by message_id::bigint'),
    ).toEqual([
      { account: 'smsgatewaycenter/default', message_id: messageOf(mine) },
      { account: 'another/default', message_id: messageOf(foreign) },
    ]);
    expect(await rowsOf(pool, 'select kind from sendledger.review_item')).toEqual([]);
  });

  test('an id that is known at one provider finds nothing at the other', async ({ freshDatabase: { pool } }) => {
    const { ours, theirs, mine, foreign } = await twoProviders(pool);
    await receive(pool, originOf(ours), [record({ status: 'open', statusWord: 'SUBMITTED' })]);
    const byIdAlone = record({ providerTxnId: null, recipient: null });
    expect(await receive(pool, originOf(theirs, 'another'), [byIdAlone])).toMatchObject({ delivered: 0, waiting: 1 });
    expect([await stateOf(pool, messageOf(mine)), await stateOf(pool, messageOf(foreign))]).toEqual([
      'submitted',
      'submitted',
    ]);
    expect(await receive(pool, originOf(ours), [byIdAlone])).toMatchObject({ delivered: 1 });
    expect(await stateOf(pool, messageOf(mine))).toBe('delivered');
  });
});

describe('words that nobody mapped', () => {
  const unmapped = (word: string, i: number) =>
    record({
      providerTxnId: `txn-${i}`,
      providerMessageId: `pm-${i}`,
      recipient: `91900000000${i}`,
      statusWord: word,
      status: 'unmapped',
    });

  test('one review item a word and provider, however often it comes', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    const words = ['PARKED', 'ROAMING', 'PARKED', 'ROAMING', 'LOST'].map(unmapped);
    await receive(pool, originOf(s), words);
    await receive(pool, originOf(s), words);
    await receive(pool, originOf(s, 'another'), [unmapped('PARKED', 9)]);
    expect(
      await rowsOf(
        pool,
        `select kind, subject, evidence->>'status_word' as word from sendledger.review_item order by subject`,
      ),
    ).toEqual([
      { kind: 'unmapped_status', subject: 'another PARKED', word: 'PARKED' },
      { kind: 'unmapped_status', subject: 'smsgatewaycenter LOST', word: 'LOST' },
      { kind: 'unmapped_status', subject: 'smsgatewaycenter PARKED', word: 'PARKED' },
      { kind: 'unmapped_status', subject: 'smsgatewaycenter ROAMING', word: 'ROAMING' },
    ]);
  });

  for (const as of ['delivered', 'failed', 'open'] as const)
    test(`are judged again once they are mapped to ${as}, and what was applied is not`, async ({
      freshDatabase: { pool },
    }) => {
      const s = await scene(pool);
      const m = await accepted(pool, s, 'txn-0', '919000000000');
      const word = unmapped('PARKED', 0);
      expect(await receive(pool, originOf(s), [word])).toMatchObject({ fresh: 1, waiting: 1 });
      const mapped = { ...word, status: as, causeClass: as === 'failed' ? 'absent' : null };
      // Known evidence: not fresh, and judged all the same.
      expect(await receive(pool, originOf(s), [mapped])).toMatchObject({
        fresh: 0,
        waiting: 0,
        delivered: as === 'delivered' ? 1 : 0,
        failed: as === 'failed' ? 1 : 0,
      });
      const state = as === 'open' ? 'submitted' : as;
      expect(await stateOf(pool, messageOf(m))).toBe(state);
      expect(await stored(pool)).toEqual([{ status: as, applied: true }]);
      // A program that does not know the word yet, or maps it otherwise, changes nothing any more.
      for (const late of [word, { ...word, status: 'failed' as const }, { ...word, status: 'delivered' as const }])
        await receive(pool, originOf(s), [late]);
      expect(await stored(pool)).toEqual([{ status: as, applied: true }]);
      expect(await stateOf(pool, messageOf(m))).toBe(state);
    });
});
