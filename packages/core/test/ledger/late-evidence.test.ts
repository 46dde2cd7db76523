import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  applyReceipts,
  cancelMessage,
  claim,
  durably,
  expireUnsubmitted,
  type MarkedSubmission,
  markNext,
  openReview,
  type ReceiptOrigin,
  type ReceiptRecord,
  type RowRef,
  recordReceipts,
  release,
  replay,
  resolveReview,
  rowsOf,
  settleAsNotSent,
  sweepCancelled,
  takeWaitingReceipts,
} from '../../src/ledger/index.ts';
import { claimedMessage, claimRequest, marked, markRequest, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene, stateOf } from './scene.ts';

type Word = 'open' | 'delivered' | 'failed';

const originOf = (s: Scene): ReceiptOrigin => ({
  routeId: s.routeId,
  provider: 'smsgatewaycenter',
  account: 'default',
  source: 'poll',
});

/** A record whose row is known without the provider's ids, as a match of the resolver is. */
const recordOf = (message: RowRef, status: Word): ReceiptRecord => ({
  providerTxnId: `late-${message.id}`,
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
});

/** As whoever keeps receipts does: stored, applied, and successors that are cancelled swept after the commit. */
async function receive(pool: pg.Pool, s: Scene, records: readonly ReceiptRecord[]) {
  const { hashes } = await durably(pool, (sql) => recordReceipts(sql, originOf(s), records));
  const applied = await durably(pool, (sql) => applyReceipts(sql, originOf(s), hashes));
  for (const successor of applied.successors) await sweepCancelled(pool, successor);
  return applied;
}

/** What a late reply left behind is looked at by itself. */
async function applyWaiting(pool: pg.Pool, s: Scene): Promise<void> {
  const waiting = await durably(pool, (sql) => takeWaitingReceipts(sql, 500, ['smsgatewaycenter/default']));
  const hashes = waiting.filter(({ origin }) => origin.routeId === s.routeId).map((receipt) => receipt.hash);
  const applied = await durably(pool, (sql) => applyReceipts(sql, originOf(s), hashes));
  for (const successor of applied.successors) await sweepCancelled(pool, successor);
}

async function moneyOf(pool: pg.Pool, message: RowRef) {
  return only(
    await rowsOf<{
      state: string;
      conflict: boolean;
      cost: string | null;
      units: number | null;
      currency: string | null;
      source: string | null;
      txn: string | null;
      pm: string | null;
      billed: Date | null;
    }>(
      pool,
      `select state::text as state, conflict, cost::text as cost, billable_units as units, cost_currency as currency,
         cost_source::text as source, provider_txn_id as txn, provider_message_id as pm, billed_after_close_at as billed
       from sendledger.outbound_message where id = $1`,
      [message.id],
    ),
  );
}

const reviewsOf = async (pool: pg.Pool, message: RowRef) =>
  (
    await rowsOf<{ kind: string }>(
      pool,
      `select kind from sendledger.review_item where message_id = $1 and resolved_at is null
         and kind in ('billed_after_close', 'receipt_conflict') order by kind`,
      [message.id],
    )
  ).map((review) => review.kind);

async function one(pool: pg.Pool, s: Scene): Promise<{ submission: MarkedSubmission; message: RowRef }> {
  const submission = only(await marked(pool, s));
  const { id, createdAt } = only(submission.rows);
  return { submission, message: { id, createdAt } };
}

async function unknown(pool: pg.Pool, s: Scene) {
  const sent = await one(pool, s);
  await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(sent.submission, 'ambiguous')]));
  return sent;
}

async function askPerson(pool: pg.Pool, message: RowRef, again: boolean) {
  await openReview(pool, { kind: 'absence_not_proven', subject: `message ${message.id}`, message, evidence: {} });
  const item = only(
    await rowsOf<{ id: string }>(
      pool,
      `select id from sendledger.review_item where message_id = $1 and kind = 'absence_not_proven' and resolved_at is null`,
      [message.id],
    ),
  );
  return durably(pool, (sql) =>
    resolveReview(sql, { id: item.id, as: 'not_sent', by: 'asha', why: 'it is not in the portal', replay: again }),
  );
}

const PROOF = {
  reason: 'proven_not_submitted',
  proof: 'absent from a complete report',
  proven: true,
  correlation: 'not_found',
  windowMs: 720_000,
} as const;

interface Closed {
  readonly submission: MarkedSubmission | null;
  readonly message: RowRef;
}

/** Every way to be closed without a cost, by legal moves. */
const CLOSED: Readonly<
  Record<string, { state: string; quoted: boolean; close: (pool: pg.Pool, s: Scene) => Promise<Closed> }>
> = {
  'failed, because its absence was proven': {
    state: 'failed',
    quoted: true,
    close: async (pool, s) => {
      const sent = await unknown(pool, s);
      await durably(pool, (sql) => settleAsNotSent(sql, [sent.message], PROOF));
      return sent;
    },
  },
  'failed, because a person said so': {
    state: 'failed',
    quoted: true,
    close: async (pool, s) => {
      const sent = await unknown(pool, s);
      await askPerson(pool, sent.message, false);
      return sent;
    },
  },
  'rejected in a reply that accepted others': {
    state: 'rejected',
    quoted: true,
    close: async (pool, s) => {
      const { submission, message } = await one(pool, s);
      await durably(pool, (sql) =>
        applyOutcomes(sql, [
          outcomeOf(submission, 'accepted', { to: 'rejected', providerTxnId: `late-${message.id}` }),
        ]),
      );
      return { submission: null, message };
    },
  },
  'rejected with its request': {
    state: 'rejected',
    quoted: true,
    close: async (pool, s) => {
      const { submission, message } = await one(pool, s);
      await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'refused')]));
      return { submission: null, message };
    },
  },
  'expired after a try that was not sent': {
    state: 'expired',
    quoted: true,
    close: async (pool, s) => {
      const { submission, message } = await one(pool, s);
      await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'not_sent')]));
      await pool.query(`update sendledger.outbound_message set submit_by = now() - interval '1 s' where id = $1`, [
        message.id,
      ]);
      await durably(pool, (sql) => expireUnsubmitted(sql, 100));
      return { submission: null, message };
    },
  },
  'cancelled after a try that was not sent': {
    state: 'cancelled',
    quoted: true,
    close: async (pool, s) => {
      const { submission, message } = await one(pool, s);
      await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'not_sent')]));
      await cancelled(pool, message);
      return { submission: null, message };
    },
  },
  'cancelled after its claim was given back': {
    state: 'cancelled',
    quoted: true,
    close: async (pool, s) => {
      const { message, submission } = await claimedMessage(pool, s);
      await durably(pool, (sql) => release(sql, [submission]));
      await cancelled(pool, message);
      return { submission: null, message };
    },
  },
  'cancelled before its first claim': {
    state: 'cancelled',
    quoted: false,
    close: async (pool, s) => {
      const message = only(await enqueue(pool, [{ route: s.name }]));
      await cancelled(pool, message);
      return { submission: null, message };
    },
  },
};

async function cancelled(pool: pg.Pool, message: RowRef): Promise<void> {
  const request = { tenantId: 'shop', message, requestedBy: 'asha', reason: 'changed my mind' };
  expect(await cancelMessage(pool, request)).toBe('cancelled');
}

type Evidence = 'late reply' | Word;

describe('evidence about a row that was closed without a cost', () => {
  for (const [closed, { state, quoted, close }] of Object.entries(CLOSED)) {
    const replies: readonly Evidence[] = state === 'failed' ? ['late reply'] : [];
    for (const evidence of [...replies, 'open', 'delivered', 'failed'] as const)
      test(`${closed}, then ${evidence}`, async ({ database: { pool } }) => {
        const s = await scene(pool);
        const { submission, message } = await close(pool, s);
        expect(await moneyOf(pool, message)).toMatchObject({ state, cost: null, billed: null, conflict: false });
        const show = async (what: Evidence) => {
          if (what !== 'late reply') return receive(pool, s, [recordOf(message, what)]);
          if (submission === null) throw new Error('there is no reply to come');
          const reply = outcomeOf(submission, 'accepted', { providerTxnId: `late-${message.id}` });
          await durably(pool, (sql) => applyOutcomes(sql, [reply]));
          return applyWaiting(pool, s);
        };
        await show(evidence);
        const first = await moneyOf(pool, message);
        // A provider may list what it refused as failed; that costs nothing.
        const nothing = state === 'rejected' && evidence === 'failed';
        if (nothing) {
          expect(first).toMatchObject({ state, cost: null, billed: null, conflict: false });
          expect(await reviewsOf(pool, message)).toEqual([]);
          return;
        }
        const cost = quoted
          ? { cost: '0.1225', units: 1, currency: 'INR', source: 'evidence', billed: expect.any(Date) as unknown }
          : { cost: null, units: null, currency: null, source: null, billed: null };
        expect(first).toMatchObject({ state, conflict: true, ...cost });
        if (quoted) expect(first.txn).toBe(`late-${message.id}`);
        expect(await reviewsOf(pool, message)).toEqual(['billed_after_close']);

        // The same again, and everything else that could be said: the money is right already.
        for (const more of [evidence, ...replies, 'open', 'delivered', 'failed'] as const) await show(more);
        expect(await moneyOf(pool, message)).toEqual({ ...first, pm: `pm-${message.id}` });
        expect((await reviewsOf(pool, message)).filter((kind) => kind === 'billed_after_close')).toHaveLength(1);
      });
  }

  test('two at the same time: it is billed once, and a person is asked once', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const { submission, message } = await unknown(pool, s);
    await askPerson(pool, message, false);
    const reply = outcomeOf(submission, 'accepted', { providerTxnId: `late-${message.id}` });
    await Promise.all([
      durably(pool, (sql) => applyOutcomes(sql, [reply])).then(() => applyWaiting(pool, s)),
      ...(['open', 'delivered', 'open'] as const).map((word) => receive(pool, s, [recordOf(message, word)])),
    ]);
    expect(await moneyOf(pool, message)).toMatchObject({ state: 'failed', cost: '0.1225', conflict: true });
    expect((await reviewsOf(pool, message)).filter((kind) => kind === 'billed_after_close')).toHaveLength(1);
  });
});

describe('a late reply about a request of which only a part is settled', () => {
  const TWO = [{ recipient: '919000000001' }, { recipient: '919000000002' }];

  async function two(pool: pg.Pool, s: Scene) {
    const submission = only(await marked(pool, s, TWO));
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'ambiguous')]));
    const [a, b] = submission.rows;
    if (a === undefined || b === undefined) throw new Error('two were expected');
    return { submission, a, b };
  }

  test('accepted: what a person called not sent is billed, and the other is submitted; with the rights of submit', async ({
    database,
  }) => {
    const { pool } = database;
    const s = await scene(pool);
    const { submission, a, b } = await two(pool, s);
    await askPerson(pool, a, false);
    const submitter = new pg.Pool({ connectionString: database.urlFor('sendledger_submit'), max: 1 });
    try {
      await durably(submitter, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'accepted')]));
    } finally {
      await submitter.end();
    }
    await applyWaiting(pool, s);
    const billed = { cost: '0.1225', source: 'evidence', conflict: true };
    expect(await moneyOf(pool, a)).toMatchObject({ state: 'failed', ...billed });
    expect(await moneyOf(pool, b)).toMatchObject({
      state: 'submitted',
      cost: '0.1225',
      source: 'quote',
      conflict: false,
    });
  });

  for (const [to, left] of [
    ['submitted', { state: 'submitted', cost: '0.1225', source: 'quote' }],
    ['rejected', { state: 'failed', cost: null, source: null }],
  ] as const)
    test(`one is proven by its receipt, and the reply says ${to} of the other`, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const { submission, a, b } = await two(pool, s);
      await receive(pool, s, [
        { ...recordOf({ id: a.id, createdAt: a.createdAt }, 'open'), providerTxnId: `txn-${submission.id}` },
      ]);
      expect(await stateOf(pool, b.id)).toBe('unknown');
      const outcome = outcomeOf(submission, 'accepted');
      const reply = {
        ...outcome,
        rows: outcome.rows.map((row) => (row.id === b.id ? { ...row, to, reason: 'in the reply' } : row)),
      };
      expect(await durably(pool, (sql) => applyOutcomes(sql, [reply]))).toMatchObject({
        late: 1,
        stale: [submission.id],
      });
      expect(await moneyOf(pool, b)).toMatchObject({ ...left, conflict: false });
      // And again: nothing more.
      expect(await durably(pool, (sql) => applyOutcomes(sql, [reply]))).toMatchObject({ late: 0 });
      expect(await moneyOf(pool, a)).toMatchObject({ state: 'submitted', cost: '0.1225' });
    });

  for (const settled of ['ambiguous, by its lease', 'not sent, by a person'] as const)
    test(`the transaction that it names is its request's, ${settled}: receipts find their row by it`, async ({
      database: { pool },
    }) => {
      const s = await scene(pool);
      const { submission, message } = await unknown(pool, s);
      if (settled === 'not sent, by a person') await askPerson(pool, message, false);
      const state = settled === 'not sent, by a person' ? 'accepted' : 'ambiguous';
      const reply = outcomeOf(submission, state, { providerTxnId: `txn-${submission.id}` });
      await durably(pool, (sql) => applyOutcomes(sql, [reply]));
      const { message: _, ...byTransaction } = recordOf(message, 'delivered');
      const found = { ...byTransaction, providerTxnId: `txn-${submission.id}`, recipient: '919999999999' };
      expect(await receive(pool, s, [found])).toMatchObject({ waiting: 0 });
      expect(await moneyOf(pool, message)).toMatchObject({ cost: '0.1225', txn: `txn-${submission.id}` });
    });
});

describe('a message that was replaced and turns out to have been delivered', () => {
  /** A message that a person called not sent and replayed, and its successor, pending. */
  async function replaced(pool: pg.Pool, s: Scene, message?: RowRef): Promise<{ first: RowRef; second: RowRef }> {
    const first = message ?? (await unknown(pool, s)).message;
    const answer = await askPerson(pool, first, true);
    if (answer.answer !== 'resolved') throw new Error(answer.answer);
    const second = answer.replays[0]?.message;
    if (second === null || second === undefined) throw new Error('there is no successor');
    return { first, second };
  }

  async function markSecond(pool: pg.Pool, s: Scene): Promise<MarkedSubmission> {
    await claim(pool, claimRequest(s));
    return only(await markNext(pool, markRequest(s)));
  }

  const factsAbout = (pool: pg.Pool, message: RowRef) =>
    rowsOf<{ by: string }>(
      pool,
      `select requested_by as by from sendledger.cancellation where kind = 'message' and message_id = $1`,
      [message.id],
    );

  const unsent: Readonly<Record<string, (pool: pg.Pool, s: Scene) => Promise<unknown>>> = {
    pending: async () => undefined,
    retry: async (pool, s) => {
      const submission = await markSecond(pool, s);
      await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'not_sent')]));
    },
    'claimed and not marked': (pool, s) => claim(pool, claimRequest(s)),
  };
  for (const [how, bring] of Object.entries(unsent))
    for (const word of ['delivered', 'open'] as const)
      test(`its successor is ${how}: cancelled by a late ${word}`, async ({ database: { pool } }) => {
        const s = await scene(pool);
        const { first, second } = await replaced(pool, s);
        await bring(pool, s);
        expect(await receive(pool, s, [recordOf(first, word)])).toMatchObject({ billed: 1, successors: [second] });
        expect(await stateOf(pool, second.id)).toBe('cancelled');
        expect(await factsAbout(pool, second)).toEqual([{ by: 'sendledger' }]);
        expect(await markNext(pool, markRequest(s))).toEqual([]);
        // Told twice, it is one fact.
        await receive(pool, s, [recordOf(first, 'delivered'), recordOf(first, 'open')]);
        expect(await factsAbout(pool, second)).toHaveLength(1);
      });

  test('it was accepted and failed: the successor is what its sender wanted', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const { first, second } = await replaced(pool, s);
    expect(await receive(pool, s, [recordOf(first, 'failed')])).toMatchObject({ billed: 1, successors: [] });
    expect(await stateOf(pool, second.id)).toBe('pending');
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1, cancelled: 0 });
  });

  for (const [reply, left] of [
    ['accepted', 'submitted'],
    ['not_sent', 'cancelled'],
  ] as const)
    test(`its successor is marked: left alone, and after a reply ${reply} it is ${left}`, async ({
      database: { pool },
    }) => {
      const s = await scene(pool);
      const { first, second } = await replaced(pool, s);
      const submission = await markSecond(pool, s);
      await receive(pool, s, [recordOf(first, 'delivered')]);
      expect(await stateOf(pool, second.id)).toBe('claimed');
      // That a second may be on its way is a fact beside it, and a question about the first.
      expect(await factsAbout(pool, second)).toEqual([{ by: 'sendledger' }]);
      expect(await reviewsOf(pool, first)).toEqual(['billed_after_close']);
      await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, reply)]));
      await claim(pool, claimRequest(s));
      expect(await stateOf(pool, second.id)).toBe(left);
      expect((await moneyOf(pool, second)).cost).toBe(reply === 'accepted' ? '0.1225' : null);
    });

  test('its successor is submitted: it stands as it is, and is billed as it was', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const { first, second } = await replaced(pool, s);
    const submission = await markSecond(pool, s);
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'accepted')]));
    const before = await moneyOf(pool, second);
    expect(await receive(pool, s, [recordOf(first, 'delivered')])).toMatchObject({ successors: [] });
    expect(await moneyOf(pool, second)).toEqual(before);
    expect(await reviewsOf(pool, first)).toEqual(['billed_after_close']);
  });

  test('its successor is unknown: proven not sent, it is not sent again by itself', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const { first, second } = await replaced(pool, s);
    const submission = await markSecond(pool, s);
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'ambiguous')]));
    await receive(pool, s, [recordOf(first, 'delivered')]);
    expect(await stateOf(pool, second.id)).toBe('unknown');
    const { moved, replays } = await durably(pool, (sql) => settleAsNotSent(sql, [second], PROOF));
    expect(moved).toHaveLength(1);
    expect(replays.map((answer) => answer.message)).toEqual([null]);
    expect(await rowsOf(pool, 'select 1 from sendledger.outbound_message where replaces_id = $1', [second.id])).toEqual(
      [],
    );
  });

  test('a chain: the successor of its successor is cancelled, and nothing between is changed', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const { first, second } = await replaced(pool, s);
    const submission = await markSecond(pool, s);
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'ambiguous')]));
    const { second: third } = await replaced(pool, s, second);
    await receive(pool, s, [recordOf(first, 'delivered')]);
    expect(await stateOf(pool, third.id)).toBe('cancelled');
    expect(await moneyOf(pool, second)).toMatchObject({ state: 'failed', cost: null, conflict: false });
    expect(await factsAbout(pool, second)).toEqual([]);
  });

  test('evidence about the middle of a chain: what comes after is cancelled, what was before is not touched', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const { first, second } = await replaced(pool, s);
    const submission = await markSecond(pool, s);
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'ambiguous')]));
    const { second: third } = await replaced(pool, s, second);
    await receive(pool, s, [recordOf(second, 'delivered')]);
    expect(await stateOf(pool, third.id)).toBe('cancelled');
    expect(await moneyOf(pool, second)).toMatchObject({ state: 'failed', cost: '0.1225', conflict: true });
    expect(await moneyOf(pool, first)).toMatchObject({ state: 'failed', cost: null, conflict: false });
  });

  for (const far of ['the next', 'the one after'] as const)
    test(`a person who replays ${far} must say that a duplicate is acceptable`, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const { first, second } = await replaced(pool, s);
      let last = second;
      if (far === 'the one after') {
        const submission = await markSecond(pool, s);
        await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'ambiguous')]));
        last = (await replaced(pool, s, second)).second;
      }
      await receive(pool, s, [recordOf(first, 'delivered')]);
      expect(await stateOf(pool, last.id)).toBe('cancelled');
      const ask = (mayDuplicate: boolean) =>
        durably(pool, (sql) => replay(sql, { message: last, who: 'asha', why: 'again', mayDuplicate }));
      expect(await ask(false)).toMatchObject({ answer: 'may_duplicate', message: null });
      expect(await ask(true)).toMatchObject({ answer: 'created' });
    });
});
