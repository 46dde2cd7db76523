import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  claim,
  durably,
  expireUnconfirmed,
  expireUnsubmitted,
  ledgerSummary,
  rowsOf,
  type SubmissionOutcome,
  sweepMarkedLeases,
} from '../../src/ledger/index.ts';
import { importMessage } from '../schema/rows.ts';
import { claimRequest, endLease, marked, markRequest, only, outcomeOf } from './on-the-way.ts';
import { enqueue, scene } from './scene.ts';

const apply = (pool: pg.Pool, ...outcomes: SubmissionOutcome[]) => durably(pool, (sql) => applyOutcomes(sql, outcomes));

async function messages(pool: pg.Pool, submissionId: string) {
  return rowsOf<{
    state: string;
    state_reason: string | null;
    attempt_count: number;
    cost: string | null;
    submission_id: string | null;
    provider_txn_id: string | null;
    dated: boolean;
  }>(
    pool,
    `select m.state, m.state_reason, m.attempt_count, m.cost, m.provider_txn_id,
       m.requested_at is not distinct from s.requested_at as dated
     from sendledger.outbound_message m join sendledger.submission s on s.id = m.submission_id
     where m.submission_id = $1 order by m.recipient`,
    [submissionId],
  );
}

async function submission(pool: pg.Pool, id: string) {
  return only(
    await rowsOf<Record<string, unknown>>(
      pool,
      'select state, outcome_reason, provider_txn_id, responded_at is not null as responded from sendledger.submission where id = $1',
      [id],
    ),
  );
}

const TWO = [{ recipient: '919000000001' }, { recipient: '919000000002' }];

describe('each outcome moves the rows of its submission', () => {
  const cases: readonly [SubmissionOutcome['state'], object, object][] = [
    ['accepted', {}, { state: 'submitted', state_reason: null, attempt_count: 1, cost: '0.1225', dated: true }],
    ['refused', {}, { state: 'rejected', state_reason: 'refused', attempt_count: 1, cost: null, dated: true }],
    [
      'refused',
      { to: 'retry' },
      { state: 'retry', state_reason: 'refused', attempt_count: 1, cost: null, dated: true },
    ],
    ['not_sent', {}, { state: 'retry', state_reason: 'not_sent', attempt_count: 0, cost: null, dated: true }],
    ['ambiguous', {}, { state: 'unknown', state_reason: 'ambiguous', attempt_count: 1, cost: null, dated: true }],
  ];
  for (const [state, options, row] of cases)
    test(`${state}${'to' in options ? ' for now' : ''}`, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const m = only(await marked(pool, s, TWO));
      const outcome = outcomeOf(m, state, options);
      expect(await apply(pool, outcome)).toMatchObject({ submissions: [m.id], rows: 2, late: 0, stale: [] });
      expect(await messages(pool, m.id)).toMatchObject([row, row]);
      expect(await submission(pool, m.id)).toMatchObject({ state, outcome_reason: state, responded: true });
      // Applying it again changes nothing, to the last column.
      const all = () =>
        rowsOf(
          pool,
          `select m::text as m, s::text as s from sendledger.outbound_message m join sendledger.submission s on s.id = m.submission_id where s.id = $1`,
          [m.id],
        );
      const before = await all();
      expect(await apply(pool, outcome)).toMatchObject({ submissions: [], rows: 0, late: 0, stale: [m.id] });
      expect(await all()).toEqual(before);
    });

  test('accepted, with one number that the reply does not account for: that one is unknown', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const m = only(await marked(pool, s, TWO));
    const outcome = outcomeOf(m, 'accepted');
    const missing = m.rows.find((row) => row.recipient === '919000000001');
    await apply(pool, {
      ...outcome,
      rows: outcome.rows.map((row) =>
        row.id === missing?.id ? { ...row, to: 'unknown', reason: 'not_in_reply' } : row,
      ),
    });
    expect(await messages(pool, m.id)).toMatchObject([
      { state: 'unknown', state_reason: 'not_in_reply', cost: null, provider_txn_id: `txn-${m.id}` },
      { state: 'submitted', cost: '0.1225' },
    ]);
  });

  test('many submissions at once, each its own way', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const [a, b, c] = await marked(pool, s, [...TWO, { recipient: '919000000003' }]);
    if (a === undefined || b === undefined || c === undefined) throw new Error('three were expected');
    expect(
      await apply(pool, outcomeOf(a, 'accepted'), outcomeOf(b, 'ambiguous'), outcomeOf(c, 'not_sent')),
    ).toMatchObject({ rows: 3, stale: [] });
    for (const [m, state, txn] of [
      [a, 'submitted', `txn-${a.id}`],
      [b, 'unknown', null],
      [c, 'retry', null],
    ] as const)
      expect(await messages(pool, m.id)).toMatchObject([{ state, provider_txn_id: txn }]);
  });

  test('a row that is due again is claimed again, into another submission, and marked again', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const first = only(await marked(pool, s));
    await apply(pool, outcomeOf(first, 'not_sent'));
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1 });
    const second = only(await marked(pool, s, []));
    expect(second.id).not.toBe(first.id);
    expect(second.rows.map((r) => r.id)).toEqual(first.rows.map((r) => r.id));
    expect(await apply(pool, outcomeOf(second, 'accepted'))).toMatchObject({ rows: 1 });
    expect(await messages(pool, second.id)).toMatchObject([{ state: 'submitted', attempt_count: 1, dated: true }]);
  });
});

describe('who may write an outcome', () => {
  test('not one who names another lease', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const m = only(await marked(pool, s));
    for (const state of ['accepted', 'refused', 'not_sent', 'ambiguous'] as const)
      expect(await apply(pool, { ...outcomeOf(m, state), leaseToken: randomUUID() })).toMatchObject({
        submissions: [],
        rows: 0,
        late: 0,
        stale: [m.id],
      });
    expect(await messages(pool, m.id)).toMatchObject([{ state: 'claimed', cost: null }]);
    expect(await submission(pool, m.id)).toMatchObject({ state: 'marked', responded: false });
  });

  test('an outcome moves no row of another submission', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const [a, b] = await marked(pool, s, TWO);
    if (a === undefined || b === undefined) throw new Error('two were expected');
    expect(await apply(pool, { ...outcomeOf(a, 'accepted'), rows: outcomeOf(b, 'accepted').rows })).toMatchObject({
      rows: 0,
    });
    expect(await messages(pool, b.id)).toMatchObject([{ state: 'claimed' }]);
  });

  test('two replies at once: one is applied', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const m = only(await marked(pool, s, TWO));
    const answers = await Promise.all(Array.from({ length: 8 }, () => apply(pool, outcomeOf(m, 'accepted'))));
    expect(answers.map((a) => a.rows).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 2]);
  });
});

describe('a lease that ran out after the mark', () => {
  test('makes the submission ambiguous and its rows unknown, once, and never pending', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool);
    const m = only(await marked(pool, s, TWO));
    expect(await durably(pool, (sql) => sweepMarkedLeases(sql, 100))).toMatchObject({ submissions: 0, rows: 0 });
    await endLease(pool, m);
    expect(await durably(pool, (sql) => sweepMarkedLeases(sql, 100))).toMatchObject({ submissions: 1, rows: 2 });
    const unknown = { state: 'unknown', state_reason: 'lease_expired', attempt_count: 1, cost: null, dated: true };
    expect(await messages(pool, m.id)).toMatchObject([unknown, unknown]);
    expect(await submission(pool, m.id)).toMatchObject({ state: 'ambiguous', outcome_reason: 'lease_expired' });
    expect(await durably(pool, (sql) => sweepMarkedLeases(sql, 100))).toMatchObject({ submissions: 0, rows: 0 });
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0 });
    expect(await durably(pool, (sql) => applyOutcomes(sql, []))).toMatchObject({ rows: 0 });
  });

  const late: readonly [SubmissionOutcome['state'], object, object, boolean][] = [
    ['accepted', {}, { state: 'submitted', state_reason: 'late_reply', cost: '0.1225' }, false],
    ['refused', {}, { state: 'failed', state_reason: 'late_refused', cost: null }, false],
    ['refused', { to: 'retry' }, { state: 'failed', state_reason: 'late_refused', cost: null }, true],
    ['not_sent', {}, { state: 'failed', state_reason: 'late_not_sent', cost: null }, true],
  ];
  for (const [state, options, row, again] of late)
    test(`the reply comes late: ${state}${'to' in options ? ' for now' : ''}`, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const m = only(await marked(pool, s, TWO));
      await endLease(pool, m);
      await durably(pool, (sql) => sweepMarkedLeases(sql, 100));
      const outcome = outcomeOf(m, state, options);
      expect(await apply(pool, { ...outcome, leaseToken: randomUUID() })).toMatchObject({ late: 0, stale: [m.id] });
      expect(await apply(pool, outcome)).toMatchObject({ submissions: [m.id], rows: 0, late: 2, stale: [] });
      expect(await messages(pool, m.id)).toMatchObject([
        { ...row, attempt_count: 1 },
        { ...row, attempt_count: 1 },
      ]);
      expect(await submission(pool, m.id)).toMatchObject({ state });
      // What was proven not sent is sent again; what was refused for good, or accepted, is not.
      const successors = await rowsOf<{ state: string; replaces: string }>(
        pool,
        `select n.state, n.replaces_id as replaces from sendledger.outbound_message n
         join sendledger.outbound_message m on m.id = n.replaces_id where m.submission_id = $1 order by n.replaces_id`,
        [m.id],
      );
      expect(successors).toEqual(again ? m.rows.map((r) => ({ state: 'pending', replaces: r.id })) : []);
      expect(await apply(pool, outcome)).toMatchObject({ late: 0, stale: [m.id], replayed: [] });
    });

  test('the reply comes late and says nothing better: ambiguous stays as it was', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const m = only(await marked(pool, s));
    await endLease(pool, m);
    await durably(pool, (sql) => sweepMarkedLeases(sql, 100));
    expect(await apply(pool, outcomeOf(m, 'ambiguous'))).toMatchObject({ late: 0, stale: [m.id] });
    expect(await messages(pool, m.id)).toMatchObject([{ state: 'unknown', state_reason: 'lease_expired' }]);
  });

  test('an ambiguous reply is judged again: what it named is kept where the later word names nothing', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const m = only(await marked(pool, s));
    await apply(pool, outcomeOf(m, 'ambiguous', { providerTxnId: 'named-before' }));
    expect(await apply(pool, outcomeOf(m, 'accepted', { providerTxnId: null }))).toMatchObject({ late: 1 });
    expect(await messages(pool, m.id)).toMatchObject([{ state: 'submitted', provider_txn_id: 'named-before' }]);
    expect(await submission(pool, m.id)).toMatchObject({ state: 'accepted', provider_txn_id: 'named-before' });
  });

  test('the reply and the sweep at the same time: one of them moves the rows, and a late reply still lands', async ({
    database: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const many = await marked(
      pool,
      s,
      Array.from({ length: 20 }, (_, i) => ({ recipient: `9190000001${String(i).padStart(2, '0')}` })),
    );
    for (const m of many) await endLease(pool, m);
    await Promise.all([
      ...many.map((m) => apply(pool, outcomeOf(m, 'accepted'))),
      ...Array.from({ length: 4 }, () => durably(pool, (sql) => sweepMarkedLeases(sql, 5))),
    ]);
    for (const m of many) expect(await messages(pool, m.id)).toMatchObject([{ state: 'submitted', attempt_count: 1 }]);
  });
});

describe('expiry', () => {
  test('pending and retry past submit_by expire, and nothing else does', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    const retried = only(await marked(pool, s));
    await apply(pool, outcomeOf(retried, 'not_sent'));
    const claimed = only(await marked(pool, await scene(pool)));
    await pool.query(`update sendledger.outbound_message set submit_by = now() - interval '1 s'`);
    const past = { submit_by: new Date(Date.now() - 1000) };
    await importMessage(pool, 'pending', s.routeId, null, { ...past, state_reason: 'no_rate' });
    await importMessage(pool, 'unknown', s.routeId, null, past);
    await importMessage(pool, 'pending', s.routeId, null);
    expect(await expireUnsubmitted(pool, 1)).toBe(1);
    expect(await expireUnsubmitted(pool, 100)).toBe(1);
    expect(await expireUnsubmitted(pool, 100)).toBe(0);
    expect((await ledgerSummary(pool, new Date(0))).states).toMatchObject({
      expired: 2,
      pending: 1,
      unknown: 1,
      claimed: 1,
    });
    expect(await messages(pool, claimed.id)).toMatchObject([{ state: 'claimed' }]);
    expect(
      await rowsOf(pool, `select state_reason from sendledger.outbound_message where state = 'expired' order by 1`),
    ).toEqual([{ state_reason: 'no_rate' }, { state_reason: 'not_sent' }]);
  });

  test('submitted past its window expires when its report was read, and stays billed', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const m = only(await marked(pool, s, TWO));
    await apply(pool, outcomeOf(m, 'accepted'));
    expect(await expireUnconfirmed(pool, [m.id])).toBe(0);
    await pool.query(
      `update sendledger.outbound_message set receipt_by = now() - interval '1 s' where submission_id = $1 and recipient = '919000000001'`,
      [m.id],
    );
    expect(await expireUnconfirmed(pool, [m.id])).toBe(1);
    expect(await messages(pool, m.id)).toMatchObject([
      { state: 'expired', state_reason: 'no_receipt', cost: '0.1225' },
      { state: 'submitted', cost: '0.1225' },
    ]);
  });
});

test('enqueue, claim and mark need no superuser: each worker does its part as its own role', async ({
  freshDatabase: database,
}) => {
  const s = await scene(database.pool);
  await enqueue(database.pool, [{ route: s.name }]);
  const { Pool } = (await import('pg')).default;
  const [claimer, submitter] = ['sendledger_claim', 'sendledger_submit'].map(
    (role) => new Pool({ connectionString: database.urlFor(role), max: 1 }),
  );
  if (claimer === undefined || submitter === undefined) throw new Error('no pools');
  try {
    expect(await claim(claimer, claimRequest(s))).toMatchObject({ rows: 1 });
    const { markNext } = await import('../../src/ledger/index.ts');
    const m = only(await markNext(submitter, markRequest(s)));
    expect(await apply(submitter, outcomeOf(m, 'accepted'))).toMatchObject({ rows: 1 });
  } finally {
    await Promise.all([claimer.end(), submitter.end()]);
  }
});
