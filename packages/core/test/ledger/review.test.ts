import { test as base } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import {
  addRate,
  applyOutcomes,
  claim,
  durably,
  listReview,
  openReview,
  type ResolveRequest,
  type RowRef,
  resolveNoRate,
  resolveReview,
  resolveReviewOf,
  reviewItem,
  rowsOf,
} from '../../src/ledger/index.ts';
import { claimRequest, marked, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene, stateOf } from './scene.ts';

/** A pool whose sessions are the command line's; what ops may is the same. */
const test = base.extend('as', { scope: 'file' }, async ({ database }, { onCleanup }) => {
  const pools = new Map<string, pg.Pool>();
  onCleanup(async () => {
    await Promise.all([...pools.values()].map((pool) => pool.end()));
  });
  return (role: 'cli' | 'ops') => {
    const pool = pools.get(role) ?? new pg.Pool({ connectionString: database.urlFor(`sendledger_${role}`), max: 4 });
    pools.set(role, pool);
    return pool;
  };
});

const resolve = (pool: pg.Pool, request: Omit<ResolveRequest, 'by' | 'why'> & Partial<ResolveRequest>) =>
  durably(pool, (sql) => resolveReview(sql, { by: 'asha', why: 'the provider said so', ...request }));

const RECIPIENT = '919876543210';

/** Messages nobody knows the fate of, in one request unless told otherwise. */
async function unknown(pool: pg.Pool, s: Scene, count = 1): Promise<RowRef[]> {
  const messages = Array.from({ length: count }, (_, i) => ({ recipient: `91987654321${i}` }));
  const submissions = await marked(pool, s, messages);
  await durably(pool, (sql) =>
    applyOutcomes(
      sql,
      submissions.map((m) => outcomeOf(m, 'ambiguous')),
    ),
  );
  const rows = submissions.flatMap((m) => m.rows.map(({ id, createdAt }) => ({ id, createdAt })));
  return rows.toSorted((a, b) => Number(a.id) - Number(b.id));
}

async function item(pool: pg.Pool, messages: readonly RowRef[], kind = 'absence_not_proven'): Promise<string> {
  const [first] = messages;
  const subject = messages.map((m) => m.id).join(' ');
  await openReview(
    pool,
    messages.length === 1 && first !== undefined
      ? { kind, subject, message: first, evidence: { looked_for: RECIPIENT } }
      : {
          kind,
          subject,
          evidence: { messages: messages.map((m) => ({ id: m.id, created_at: m.createdAt.toISOString() })) },
        },
  );
  const [row] = await rowsOf<{ id: string }>(
    pool,
    'select id from sendledger.review_item where kind = $1 and subject = $2 order by id desc limit 1',
    [kind, subject],
  );
  return row?.id ?? '';
}

async function rowOf(pool: pg.Pool, message: RowRef) {
  return only(
    await rowsOf<Record<string, unknown>>(
      pool,
      `select m.state, m.state_reason, m.cost, m.cost_source, m.cost_currency, s.state as submission from sendledger.outbound_message m
       left join sendledger.submission s on s.id = m.submission_id where m.id = $1`,
      [message.id],
    ),
  );
}

const itemRow = async (pool: pg.Pool, id: string) =>
  only(
    await rowsOf<Record<string, unknown>>(
      pool,
      'select resolved_at is not null as closed, resolved_by, resolution, note from sendledger.review_item where id = $1',
      [id],
    ),
  );

const logOf = (pool: pg.Pool, id: string) =>
  rowsOf<Record<string, unknown>>(
    pool,
    `select who, action, why, message_id from sendledger.audit_log where subject = 'review ' || $1`,
    [id],
  );

const SENT = { state: 'submitted', state_reason: 'review_sent', cost: '0.1225', cost_source: 'person', cost_currency: 'INR', submission: 'accepted' }; // biome-ignore format: one row
const NOT_SENT = { state: 'failed', state_reason: 'review_not_sent', cost: null, submission: 'not_sent' };

describe('a person decides', () => {
  for (const role of ['cli', 'ops'] as const) {
    test(`${role}: it was sent: submitted and billed at the quote`, async ({ database: { pool }, as }) => {
      const messages = await unknown(pool, await scene(pool));
      const id = await item(pool, messages);
      expect(await resolve(as(role), { id, as: 'sent' })).toMatchObject({
        answer: 'resolved',
        moved: [{ state: 'submitted' }],
        left: [],
        replays: [],
      });
      expect(await rowOf(pool, only(messages))).toMatchObject(SENT);
      expect(await itemRow(pool, id)).toEqual({
        closed: true,
        resolved_by: 'asha',
        resolution: 'sent',
        note: 'the provider said so',
      });
      expect(await logOf(pool, id)).toEqual([
        { who: 'asha', action: 'review_sent', why: 'the provider said so', message_id: only(messages).id },
      ]);
    });

    test(`${role}: it was not sent: failed and unbilled, and sent again only where that is said`, async ({
      database: { pool },
      as,
    }) => {
      const s = await scene(pool, { maxBatch: 1 });
      const [quiet, again] = await unknown(pool, s, 2);
      if (quiet === undefined || again === undefined) throw new Error('two were expected');
      const id = await item(pool, [quiet]);
      expect(await resolve(as(role), { id, as: 'not_sent' })).toMatchObject({ answer: 'resolved', replays: [] });
      expect(await rowOf(pool, quiet)).toMatchObject(NOT_SENT);
      expect(
        await rowsOf(pool, 'select 1 from sendledger.outbound_message where replaces_id = $1', [quiet.id]),
      ).toEqual([]);

      const other = await item(pool, [again]);
      const answer = await resolve(as(role), { id: other, as: 'not_sent', replay: true });
      expect(answer).toMatchObject({ answer: 'resolved', replays: [{ answer: 'created', replaces: again }] });
      expect(await rowOf(pool, again)).toMatchObject(NOT_SENT);
      const [successor] = await rowsOf<{ id: string; state: string }>(
        pool,
        'select id, state from sendledger.outbound_message where replaces_id = $1',
        [again.id],
      );
      expect(successor).toMatchObject({ state: 'pending' });
      expect(
        await rowsOf(pool, `select who, action, why from sendledger.audit_log where message_id = $1 order by id`, [
          again.id,
        ]),
      ).toEqual([
        { who: 'asha', action: 'review_not_sent', why: 'the provider said so' },
        { who: 'asha', action: 'replay', why: 'the provider said so' },
      ]);
    });
  }

  test('leave: the item is closed, the row stays unknown', async ({ database: { pool }, as }) => {
    const messages = await unknown(pool, await scene(pool));
    const id = await item(pool, messages);
    expect(await resolve(as('cli'), { id, as: 'leave' })).toMatchObject({ answer: 'resolved', moved: [] });
    expect(await rowOf(pool, only(messages))).toMatchObject({ state: 'unknown', cost: null, submission: 'ambiguous' });
    expect(await itemRow(pool, id)).toMatchObject({ closed: true, resolution: 'leave' });
    expect(await logOf(pool, id)).toMatchObject([{ action: 'review_leave' }]);
  });

  test('a set settles together; a row that evidence moved meanwhile stays as it is, and the answer says so', async ({
    database: { pool },
    as,
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const rows = await unknown(pool, s, 3);
    const id = await item(pool, rows, 'several_fit');
    const [moved] = rows;
    await pool.query(`update sendledger.outbound_message set state = 'failed', state_reason = 'absent' where id = $1`, [
      moved?.id,
    ]);
    expect(await resolve(as('cli'), { id, as: 'sent' })).toMatchObject({
      answer: 'resolved',
      moved: [{ state: 'submitted' }, { state: 'submitted' }],
      left: [{ id: moved?.id, state: 'failed' }],
    });
    expect(await Promise.all(rows.map((row) => stateOf(pool, row.id)))).toEqual(['failed', 'submitted', 'submitted']);
    for (const row of rows.slice(1)) expect(await rowOf(pool, row)).toMatchObject(SENT);
  });

  test('none of its messages is unknown any more: nothing is decided but leave', async ({ database: { pool }, as }) => {
    const messages = await unknown(pool, await scene(pool));
    const id = await item(pool, messages);
    await pool.query(`update sendledger.outbound_message set state = 'failed', state_reason = 'absent' where id = $1`, [
      only(messages).id,
    ]);
    for (const how of ['sent', 'not_sent'] as const)
      expect(await resolve(as('cli'), { id, as: how })).toEqual({
        answer: 'nothing_unknown',
        left: [{ ...only(messages), state: 'failed' }],
      });
    expect(await itemRow(pool, id)).toMatchObject({ closed: false });
    expect(await logOf(pool, id)).toEqual([]);
    expect(await resolve(as('cli'), { id, as: 'leave' })).toMatchObject({ answer: 'resolved' });
  });

  test('an item about no message, one that is not there, one that is decided, and no name', async ({
    database: { pool },
    as,
  }) => {
    await openReview(pool, { kind: 'unmapped_code', subject: 'route 1 code 999', evidence: { code: '999' } });
    const [about] = await listReview(pool, { kind: 'unmapped_code', limit: 1, open: true });
    const id = about?.id ?? '';
    expect(await resolve(as('cli'), { id, as: 'sent' })).toEqual({ answer: 'no_messages' });
    expect(await resolve(as('cli'), { id: '99999999', as: 'leave' })).toEqual({ answer: 'not_found' });
    expect(await resolve(as('cli'), { id, as: 'leave' })).toMatchObject({ answer: 'resolved' });
    expect(await resolve(as('cli'), { id, as: 'leave', by: 'ben' })).toMatchObject({
      answer: 'already_resolved',
      resolvedBy: 'asha',
      resolution: 'leave',
      note: 'the provider said so',
    });
    for (const change of [{ by: '' }, { why: ' ' }])
      await expect(resolve(as('cli'), { id, as: 'leave', ...change })).rejects.toMatchObject({
        code: 'SENDLEDGER_REASON_NEEDED',
      });
  });

  test('many at once, each with another mind: one decides, the others are told what was decided', async ({
    database: { pool },
    as,
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    for (let turn = 0; turn < 5; turn++) {
      const rows = await unknown(pool, s, 2);
      const id = await item(pool, rows, 'several_fit');
      const minds = ['sent', 'not_sent', 'leave', 'sent'] as const;
      const answers = await Promise.all(
        minds.map((mind, i) => resolve(as('cli'), { id, as: mind, by: `person ${i}`, replay: mind === 'not_sent' })),
      );
      const won = answers.findIndex((a) => a.answer === 'resolved');
      const { resolution, resolved_by } = await itemRow(pool, id);
      expect([resolution, resolved_by]).toEqual([minds[won], `person ${won}`]);
      for (const [i, answer] of answers.entries())
        if (i !== won)
          expect(answer).toMatchObject({ answer: 'already_resolved', resolvedBy: `person ${won}`, resolution });
      const states = await Promise.all(rows.map((row) => stateOf(pool, row.id)));
      expect(new Set(states)).toEqual(
        new Set([{ sent: 'submitted', not_sent: 'failed', leave: 'unknown' }[minds[won] ?? 'leave']]),
      );
      expect(await logOf(pool, id)).toHaveLength(1);
      // What was sent again is out of the way of the next turn.
      await pool.query(
        `update sendledger.outbound_message set state = 'cancelled' where route_id = $1 and state = 'pending'`,
        [s.routeId],
      );
    }
  });

  test('a reply that comes while a person decides: one of the two moves the row, and nobody is kept waiting for ever', async ({
    database: { pool },
    as,
  }) => {
    const s = await scene(pool);
    for (let turn = 0; turn < 10; turn++) {
      const m = only(await marked(pool, s));
      await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(m, 'ambiguous')]));
      const row = only(m.rows);
      const id = await item(pool, [{ id: row.id, createdAt: row.createdAt }]);
      const [, decided] = await Promise.all([
        durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(m, 'accepted')])),
        resolve(as('cli'), { id, as: 'not_sent' }),
      ]);
      const state = await stateOf(pool, row.id);
      expect([decided.answer, state]).toEqual(
        decided.answer === 'resolved' ? ['resolved', 'failed'] : ['nothing_unknown', 'submitted'],
      );
    }
  });
});

describe('what a person sees', () => {
  test('lists by kind, open ones first of all, and an item with its messages and their states', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const rows = await unknown(pool, s, 2);
    const set = await item(pool, rows, 'several_fit');
    const one = await item(pool, rows.slice(0, 1));
    expect((await listReview(pool, { limit: 10, open: true })).map((line) => line.id)).toEqual([set, one]);
    expect((await listReview(pool, { limit: 1, open: true })).map((line) => line.id)).toEqual([set]);
    expect((await listReview(pool, { kind: 'several_fit', limit: 10, open: true })).map((line) => line.id)).toEqual([
      set,
    ]);
    expect(await reviewItem(pool, set)).toMatchObject({
      kind: 'several_fit',
      resolvedAt: null,
      messages: rows.map((row) => ({ ...row, state: 'unknown', cost: '0.1225', currency: 'INR' })),
    });
    await resolve(pool, { id: set, as: 'leave' });
    expect((await listReview(pool, { limit: 10, open: true })).map((line) => line.id)).toEqual([one]);
    expect((await listReview(pool, { limit: 10, open: false })).map((line) => [line.id, line.resolution])).toEqual([
      [one, null],
      [set, 'leave'],
    ]);
    expect(await reviewItem(pool, '99999999')).toBeNull();
  });

  test('numbers are masked unless asked for, and ids are not', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    const [row] = await unknown(pool, s);
    await openReview(pool, {
      kind: 'x',
      subject: `${RECIPIENT} twice`,
      message: row ?? { id: '', createdAt: new Date() },
      evidence: {
        note: `seen as 9876543210 and 918888888888`,
        provider_txn_id: '123456789012',
        candidates: [{ mobile: '918888888888' }],
      },
    });
    const [line] = await listReview(pool, { limit: 1, open: true });
    const hidden = await reviewItem(pool, line?.id ?? '');
    expect(JSON.stringify([line, hidden])).not.toMatch(/9876543210|918888888888/);
    expect(hidden).toMatchObject({
      evidence: { provider_txn_id: '123456789012' },
      messages: [{ recipient: '9198******10' }],
    });
    expect(await reviewItem(pool, line?.id ?? '', { reveal: true })).toMatchObject({
      subject: `${RECIPIENT} twice`,
      evidence: { candidates: [{ mobile: '918888888888' }] },
      messages: [{ recipient: RECIPIENT }],
    });
  });
});

describe('evidence answers a question before a person does', () => {
  test('items about the message are closed; a set only when none of it is unknown; other kinds stay', async ({
    database: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const [a, b] = await unknown(pool, s, 2);
    if (a === undefined || b === undefined) throw new Error('two were expected');
    const single = await item(pool, [a]);
    const set = await item(pool, [a, b], 'several_fit');
    const conflict = await item(pool, [a], 'receipt_conflict');
    const settle = (message: RowRef) =>
      durably(pool, async (sql) => {
        await sql.query(
          `update sendledger.outbound_message set state = 'failed', state_reason = 'absent' where id = $1`,
          [message.id],
        );
        return resolveReviewOf(sql, [message], ['absence_not_proven', 'several_fit'], 'a receipt came');
      });
    expect(await settle(a)).toBe(1);
    const closed = {
      closed: true,
      resolved_by: 'sendledger',
      resolution: 'settled_by_evidence',
      note: 'a receipt came',
    };
    expect(await itemRow(pool, single)).toEqual(closed);
    for (const id of [set, conflict]) expect(await itemRow(pool, id)).toMatchObject({ closed: false });
    expect(await settle(b)).toBe(1);
    expect(await itemRow(pool, set)).toEqual(closed);
    expect(await itemRow(pool, conflict)).toMatchObject({ closed: false });
    expect(await durably(pool, (sql) => resolveReviewOf(sql, [], ['several_fit'], 'x'))).toBe(0);
  });

  test('a price that was missing: the items it answers are closed, by whoever added it', async ({
    database: { pool },
    as,
  }) => {
    const s = await scene(pool, { rate: false });
    await enqueue(pool, [{ route: s.name }, { route: s.name, messageClass: 'otp' }]);
    for (const messageClass of ['transactional', 'otp'] as const) await claim(pool, claimRequest(s, messageClass));
    const open = async () =>
      (await listReview(pool, { kind: 'no_rate', limit: 1000, open: true }))
        .filter((line) => line.route === s.name)
        .map((line) => line.subject);
    expect(await open()).toHaveLength(2);
    const add = (priceKey: string) =>
      durably(as('cli'), async (sql) => {
        await addRate(sql, {
          routeId: s.routeId,
          priceKey,
          currency: 'INR',
          price: '0.1',
          validFrom: null,
          validTo: null,
        });
        return resolveNoRate(sql, s.routeId, 'asha', `price added for ${priceKey}`);
      });
    expect(await add('otp:*')).toBe(1);
    expect(await open()).toEqual([expect.stringContaining('transactional:IN')]);
    expect(await add('*')).toBe(1);
    expect(await open()).toEqual([]);
  });
});
