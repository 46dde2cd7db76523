import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { judgeReceipt, type ReceiptStatus } from '../../src/domain/receipt.ts';
import type { MessageState } from '../../src/domain/state.ts';
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
import { type Scene, scene } from './scene.ts';

const originOf = (s: Scene): ReceiptOrigin => ({
  routeId: s.routeId,
  provider: 'smsgatewaycenter',
  account: 'default',
  source: 'poll',
});

function record(m: MarkedSubmission, status: ReceiptStatus, change: Partial<ReceiptRecord> = {}): ReceiptRecord {
  return {
    providerTxnId: `txn-${m.id}`,
    providerMessageId: `pm-${m.id}`,
    recipient: m.rows[0]?.recipient ?? null,
    senderId: null,
    statusWord: status.toUpperCase(),
    status,
    cause: null,
    causeClass: null,
    submittedAt: null,
    deliveredAt: status === 'delivered' ? new Date('2026-01-01T10:00:00Z') : null,
    evidence: {},
    ...change,
  };
}

const receive = (pool: pg.Pool, s: Scene, records: readonly ReceiptRecord[]) =>
  durably(pool, async (sql) => {
    const { hashes } = await recordReceipts(sql, originOf(s), records);
    return applyReceipts(sql, originOf(s), hashes);
  });

async function row(pool: pg.Pool, m: MarkedSubmission) {
  return only(
    await rowsOf<{ state: MessageState; conflict: boolean; cost: string | null; provider_message_id: string | null }>(
      pool,
      'select state, conflict, cost, provider_message_id from sendledger.outbound_message where submission_id = $1',
      [m.id],
    ),
  );
}

/** One message that the provider accepted, or whose outcome is unknown though its transaction is known. */
async function sent(pool: pg.Pool, s: Scene, as: 'submitted' | 'unknown', recipient = '919000000001') {
  const m = only(await marked(pool, s, [{ recipient }]));
  const outcome =
    as === 'submitted'
      ? outcomeOf(m, 'accepted')
      : // A number the reply did not account for: its transaction is known, its fate is not.
        outcomeOf(m, 'accepted', { to: 'unknown' });
  await durably(pool, (sql) => applyOutcomes(sql, [outcome]));
  return m;
}

/** All sequences of length 1 to `longest` over the words. */
function sequences<T>(words: readonly T[], longest: number): T[][] {
  if (longest === 0) return [];
  const shorter = sequences(words, longest - 1);
  const longestOnes = [[], ...shorter]
    .filter((s) => s.length === longest - 1)
    .flatMap((s) => words.map((word) => [...s, word]));
  return [...shorter, ...longestOnes];
}

/** Where judgeReceipt leads when the receipts come one after the other; a repeat is the same evidence and is not judged. */
function expected(start: MessageState, sequence: readonly ReceiptStatus[]) {
  let state = start;
  let conflict = false;
  for (const status of new Set(sequence)) {
    const verdict = judgeReceipt(state, status, true);
    if (verdict.kind === 'move') state = verdict.to;
    if (verdict.kind === 'accepted') state = 'submitted';
    if (verdict.kind === 'conflict') conflict = true;
  }
  return { state, conflict };
}

const WORDS = ['open', 'delivered', 'failed'] as const;

describe('every order and doubling of open, delivered and failed (FC-26, FC-27)', () => {
  for (const start of ['submitted', 'unknown'] as const)
    for (const how of ['one by one', 'in one call'] as const)
      test(`from ${start}, ${how}`, async ({ database: { pool } }) => {
        const s = await scene(pool);
        // A receipt that disagrees between calls is another piece of evidence; the same one again is not.
        for (const sequence of sequences<ReceiptStatus>(WORDS, 3)) {
          const m = await sent(pool, s, start);
          const records = sequence.map((status) => record(m, status));
          if (how === 'in one call') await receive(pool, s, records);
          else for (const one of records) await receive(pool, s, [one]);
          const found = await row(pool, m);
          expect({ state: found.state, conflict: found.conflict }, sequence.join(', ')).toEqual(
            expected(start, sequence),
          );
          // Billed once, whatever came.
          expect(found).toMatchObject({ cost: '0.1225', provider_message_id: `pm-${m.id}` });
          const reviews = await rowsOf<{ kind: string }>(
            pool,
            'select kind from sendledger.review_item where message_id = $1',
            [m.rows[0]?.id],
          );
          expect(reviews, sequence.join(', ')).toEqual(found.conflict ? [{ kind: 'receipt_conflict' }] : []);
          expect(
            await rowsOf(
              pool,
              `select count(*)::int as stored, count(applied_at)::int as applied, bool_or(conflict) as conflict
               from sendledger.delivery_receipt where provider_txn_id = $1`,
              [`txn-${m.id}`],
            ),
          ).toEqual([{ stored: new Set(sequence).size, applied: new Set(sequence).size, conflict: found.conflict }]);
        }
      });

  test('at the same time, from many pollers', async ({ database: { pool } }) => {
    const s = await scene(pool);
    for (let i = 0; i < 5; i++) {
      const m = await sent(pool, s, 'submitted');
      await Promise.all(Array.from({ length: 6 }, () => receive(pool, s, [record(m, 'open'), record(m, 'delivered')])));
      expect(await row(pool, m)).toMatchObject({ state: 'delivered', conflict: false });
    }
  });
});

describe('a receipt that cannot be applied yet (FC-24, FC-25, FC-51)', () => {
  test('overtakes our own reply: it waits, and applies afterwards', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const m = only(await marked(pool, s));
    const early = record(m, 'delivered');
    expect(await receive(pool, s, [early])).toMatchObject({ delivered: 0, failed: 0, conflicts: 0, waiting: 1 });
    expect(await row(pool, m)).toMatchObject({ state: 'claimed', conflict: false, provider_message_id: null });
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(m, 'accepted')]));
    expect(await receive(pool, s, [early])).toMatchObject({ delivered: 1, failed: 0, conflicts: 0, waiting: 0 });
    expect(await row(pool, m)).toMatchObject({ state: 'delivered', conflict: false, cost: '0.1225' });
  });

  test('finds its row, and the row is still claimed: it waits and is not lost', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const m = only(await marked(pool, s));
    // The reply is stored, its row was set apart: so the transaction is known and the row has not moved.
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(m, 'accepted', { rows: [] })]));
    expect(await receive(pool, s, [record(m, 'delivered')])).toMatchObject({
      delivered: 0,
      failed: 0,
      conflicts: 0,
      waiting: 1,
    });
    expect(await row(pool, m)).toMatchObject({ state: 'claimed', conflict: false, cost: null });
    expect(
      await rowsOf(pool, 'select applied_at from sendledger.delivery_receipt where provider_txn_id = $1', [
        `txn-${m.id}`,
      ]),
    ).toEqual([{ applied_at: null }]);
  });

  test('a word that nobody mapped changes nothing, is reviewed, and is judged again once it is mapped', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const m = await sent(pool, s, 'submitted');
    const word = { statusWord: `WORD OF ${m.id}` };
    expect(await receive(pool, s, [record(m, 'unmapped', word)])).toMatchObject({ waiting: 1 });
    expect(await row(pool, m)).toMatchObject({ state: 'submitted', conflict: false });
    expect(await rowsOf(pool, 'select kind from sendledger.review_item where route_id = $1', [s.routeId])).toEqual([
      { kind: 'unmapped_status' },
    ]);
    // The same evidence, read again by a program that knows the word.
    const mapped = record(m, 'delivered', { ...word, deliveredAt: null });
    expect(await receive(pool, s, [mapped])).toMatchObject({ delivered: 1, waiting: 0 });
    expect(await receive(pool, s, [record(m, 'failed', { ...word, deliveredAt: null })])).toMatchObject({ failed: 0 });
    expect(await row(pool, m)).toMatchObject({ state: 'delivered', conflict: false });
  });

  test('a receipt of nobody waits and touches nobody', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const m = await sent(pool, s, 'submitted');
    expect(
      await receive(pool, s, [record(m, 'delivered', { providerTxnId: 'stranger', providerMessageId: 'stranger' })]),
    ).toMatchObject({ waiting: 1 });
    expect(await row(pool, m)).toMatchObject({ state: 'submitted' });
  });

  test('a receipt of the same transaction for another number is not ours', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const m = await sent(pool, s, 'submitted');
    expect(await receive(pool, s, [record(m, 'delivered', { recipient: '918888888888' })])).toMatchObject({
      waiting: 1,
    });
  });

  test('the same transaction id of another account is not ours', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const m = await sent(pool, s, 'submitted');
    const origin: ReceiptOrigin = { ...originOf(s), account: 'another' };
    await durably(pool, async (sql) => {
      const { hashes } = await recordReceipts(sql, origin, [record(m, 'delivered')]);
      expect(await applyReceipts(sql, origin, hashes)).toMatchObject({ waiting: 1 });
    });
    expect(await row(pool, m)).toMatchObject({ state: 'submitted' });
  });
});

describe('who owns a provider id', () => {
  test('a second id for one row is reviewed and overwrites nothing', async ({ database: { pool } }) => {
    for (const how of ['later', 'in the same call'] as const) {
      const s = await scene(pool);
      const m = await sent(pool, s, 'submitted');
      const first = record(m, 'open', { providerMessageId: `first-${m.id}` });
      const second = record(m, 'open', { providerMessageId: `second-${m.id}` });
      if (how === 'later') {
        await receive(pool, s, [first]);
        await receive(pool, s, [second]);
      } else await receive(pool, s, [first, second]);
      expect(await row(pool, m)).toMatchObject({ provider_message_id: `first-${m.id}` });
      expect(
        await rowsOf(
          pool,
          `select kind, evidence->>'first' as first, evidence->>'second' as second from sendledger.review_item where route_id = $1`,
          [s.routeId],
        ),
      ).toEqual([{ kind: 'second_provider_message', first: `first-${m.id}`, second: `second-${m.id}` }]);
    }
  });

  test('a late receipt is found by its id alone, without its transaction', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const m = await sent(pool, s, 'submitted');
    await receive(pool, s, [record(m, 'open')]);
    expect(await receive(pool, s, [record(m, 'delivered', { providerTxnId: null, recipient: null })])).toMatchObject({
      delivered: 1,
    });
  });

  test('an id that another row owns moves neither row and is reviewed', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const owner = await sent(pool, s, 'submitted', '919000000001');
    await receive(pool, s, [record(owner, 'open')]);
    const other = await sent(pool, s, 'submitted', '919000000002');
    // The provider names the other row's transaction and number, and the id that it gave the first.
    const alarming = record(other, 'delivered', { providerMessageId: `pm-${owner.id}` });
    expect(await receive(pool, s, [alarming])).toMatchObject({ delivered: 0, waiting: 1 });
    expect(await row(pool, owner)).toMatchObject({ state: 'submitted', provider_message_id: `pm-${owner.id}` });
    expect(await row(pool, other)).toMatchObject({ state: 'submitted', provider_message_id: null });
    expect(
      await rowsOf(
        pool,
        `select kind, evidence->>'provider_message_id' as id from sendledger.review_item where route_id = $1`,
        [s.routeId],
      ),
    ).toEqual([{ kind: 'provider_message_owned', id: `pm-${owner.id}` }]);
    expect(
      await rowsOf(pool, 'select message_id from sendledger.provider_message where provider_message_id = $1', [
        `pm-${owner.id}`,
      ]),
    ).toEqual([{ message_id: owner.rows[0]?.id }]);
  });

  test('one id for two rows in one call: one of them owns it, the other is reviewed', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const a = await sent(pool, s, 'submitted', '919000000001');
    const b = await sent(pool, s, 'submitted', '919000000002');
    await receive(pool, s, [
      record(a, 'open', { providerMessageId: `shared-${a.id}` }),
      record(b, 'open', { providerMessageId: `shared-${a.id}` }),
    ]);
    const ids = [(await row(pool, a)).provider_message_id, (await row(pool, b)).provider_message_id];
    expect(ids.filter((id) => id !== null)).toEqual([`shared-${a.id}`]);
    expect(await rowsOf(pool, 'select kind from sendledger.review_item where route_id = $1', [s.routeId])).toEqual([
      { kind: 'provider_message_owned' },
    ]);
  });
});

describe('finals that contradict (FC-28)', () => {
  for (const [first, second] of [
    ['delivered', 'failed'],
    ['failed', 'delivered'],
  ] as const)
    test(`${first}, then ${second}: the first stands, the row is flagged`, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const m = await sent(pool, s, 'submitted');
      await receive(pool, s, [record(m, first)]);
      expect(await receive(pool, s, [record(m, second)])).toMatchObject({ conflicts: 1 });
      expect(await row(pool, m)).toMatchObject({ state: first, conflict: true });
      expect(
        await rowsOf(
          pool,
          `select status, conflict from sendledger.delivery_receipt where provider_txn_id = $1 order by id`,
          [`txn-${m.id}`],
        ),
      ).toEqual([
        { status: first, conflict: false },
        { status: second, conflict: true },
      ]);
    });
});
