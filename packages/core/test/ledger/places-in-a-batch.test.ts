import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import { describe, expect, test as plain } from 'vitest';
import { byId, sortedRowKeys } from '../../src/ledger/identity.ts';
import { applyOutcomes, applyReceipts, durably, recordReceipts, rowsOf } from '../../src/ledger/index.ts';
import { diceOf, shuffled } from './dice.ts';
import { marked, outcomeOf } from './on-the-way.ts';
import { scene } from './scene.ts';

const AT = new Date('2026-01-01T00:00:00Z');
const ids = fc.uniqueArray(
  fc.oneof(fc.bigInt({ min: 1n, max: 2_000n }), fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })).map(String),
  { minLength: 1, maxLength: 60 },
);

describe('keys that are halved must be sorted', () => {
  plain('as numbers, whatever their length; in any other order they are refused', () => {
    fc.assert(
      fc.property(ids, (given) => {
        const refs = given.map((id) => ({ id, createdAt: AT }));
        const [sorted] = sortedRowKeys(byId(refs));
        expect(sorted).toEqual(given.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)));
        const inOrder = given.every((id, i) => id === sorted[i]);
        if (!inOrder) expect(() => sortedRowKeys(refs)).toThrow('in the order of their ids');
      }),
    );
  });

  plain('and each once', () => {
    const twice = [AT, AT].map((createdAt) => ({ id: '7', createdAt }));
    expect(() => sortedRowKeys(twice)).toThrow('each once');
  });
});

describe('in a batch each row gets what is its own, in whatever order it is named', () => {
  for (const seed of [1, 2, 3])
    test(`outcomes and receipts of requests of one to five, seed ${seed}`, async ({ database: { pool } }) => {
      const s = await scene(pool, { maxBatch: 5 });
      await pool.query(
        'update sendledger.route set max_in_flight_requests = 1000, max_open_submissions = 1000, otp_reserve = 0',
      );
      const dice = diceOf(seed);
      const marks = await marked(
        pool,
        s,
        // Equal texts share a request: of 1, 2, … 5, 1, 2, … recipients. Enough that ids have one digit, two and three.
        Array.from({ length: 240 }, (_, i) => ({ recipient: `91900${1_000_000 + i}`, body: `text ${textOf(i)}` })),
      );
      expect(new Set(marks.map((m) => m.size)).size).toBeGreaterThan(3);
      const outcomes = shuffled(marks, dice).map((m) => {
        const outcome = outcomeOf(m, 'accepted', { statusCode: `code ${m.id}` });
        return { ...outcome, rows: shuffled(outcome.rows, dice).map((row) => ({ ...row, cause: `cause ${row.id}` })) };
      });
      const applied = await durably(pool, (sql) => applyOutcomes(sql, shuffled(outcomes, dice)));
      expect(applied.rows).toBe(240);
      const sent = await rowsOf<{ id: string; submission: string; txn: string; cause: string; code: string }>(
        pool,
        `select id, submission_id as submission, provider_txn_id as txn, provider_cause as cause, provider_status_code as code
         from sendledger.outbound_message where route_id = $1`,
        [s.routeId],
      );
      for (const row of sent)
        expect(row).toMatchObject({
          txn: `txn-${row.submission}`,
          cause: `cause ${row.id}`,
          code: `code ${row.submission}`,
        });

      const origin = { routeId: s.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' } as const;
      const records = marks.flatMap((m) =>
        m.rows.map((row, i) => ({
          providerTxnId: `txn-${m.id}`,
          providerMessageId: `pm-${row.id}`,
          recipient: row.recipient,
          senderId: null,
          statusWord: 'X',
          status: (['delivered', 'failed', 'open'] as const)[(i + Number(m.id)) % 3] ?? 'open',
          cause: `said of ${row.id}`,
          causeClass: 'none',
          submittedAt: null,
          deliveredAt: new Date(Date.parse('2026-01-01T10:00:00Z') + Number(row.id)),
          evidence: { of: row.id },
        })),
      );
      await durably(pool, async (sql) => {
        const { hashes } = await recordReceipts(sql, origin, shuffled(records, dice));
        await applyReceipts(sql, origin, shuffled(hashes, dice));
      });
      const said = new Map(records.map((r) => [r.recipient, r]));
      const rows = await rowsOf<{
        recipient: string;
        id: string;
        state: string;
        cause: string;
        at: Date | null;
        pm: string;
      }>(
        pool,
        `select recipient, id, state, provider_cause as cause, delivered_at as at, provider_message_id as pm from sendledger.outbound_message where route_id = $1`,
        [s.routeId],
      );
      for (const row of rows) {
        const own = said.get(row.recipient);
        expect(row.state).toBe(own?.status === 'open' ? 'submitted' : own?.status);
        expect(row.pm).toBe(own?.providerMessageId);
        expect(row.cause).toBe(own?.status === 'open' ? `cause ${row.id}` : own?.cause);
        expect(row.at).toEqual(own?.status === 'delivered' ? own.deliveredAt : null);
      }
      const receipts = await rowsOf<{ of: string; message: string }>(
        pool,
        `select evidence ->> 'of' as of, message_id as message from sendledger.delivery_receipt where applied_at is not null and route_id = $1`,
        [s.routeId],
      );
      expect(receipts).toHaveLength(240);
      for (const receipt of receipts) expect(receipt.message).toBe(receipt.of);
    });
});

/** 0, 1 1, 2 2 2, …, 4 4 4 4 4, 5, 6 6, …: so many of each text as its number says, from one to five. */
function textOf(i: number): number {
  const inRound = i % 15;
  let text = 0;
  for (let left = inRound; left > text; left -= text) text += 1;
  return Math.floor(i / 15) * 5 + text;
}

describe('a row that an outcome names for another request of its batch', () => {
  test('is not moved: it takes its outcome by its own', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const [one, other] = (await marked(pool, s, [{ recipient: '919000000001' }, { recipient: '919000000002' }])).map(
      (m) => outcomeOf(m, 'accepted'),
    );
    if (one === undefined || other === undefined) throw new Error('two were marked');
    const applied = await durably(pool, (sql) =>
      applyOutcomes(sql, [
        { ...one, rows: other.rows },
        { ...other, rows: one.rows },
      ]),
    );
    expect(applied.rows).toBe(0);
    expect(
      await rowsOf(pool, 'select distinct state from sendledger.outbound_message where route_id = $1', [s.routeId]),
    ).toEqual([{ state: 'claimed' }]);
  });
});
