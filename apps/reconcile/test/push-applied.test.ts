import { rowsOf } from '@sendledger/core/ledger';
import type pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { until } from '../../../test/support/settled.ts';
import { accepted, aRoute, polledOf } from './accepted-submission.ts';
import { portalPush, pushAdapter, pushHere } from './push-here.ts';
import { NOTHING_YET, recordedReads } from './recorded-reads.ts';
import { readerOf } from './report-reader.ts';

/** Nothing is due by itself for a long time. */
const notDue = (pool: pg.Pool) => pool.query(`update sendledger.submission set poll_at = now() + interval '1 hour'`);

const receipts = (pool: pg.Pool) =>
  rowsOf<{ word: string; applied: boolean }>(
    pool,
    'select status_word as word, applied_at is not null as applied from sendledger.delivery_receipt order by id',
  );

const allApplied = (pool: pg.Pool, count: number) =>
  until(async () => {
    const all = await receipts(pool);
    return all.length === count && all.every(({ applied }) => applied);
  });

describe('a push that anybody could have made', () => {
  test('moves no row, whatever it says: it makes the report due, and the report decides', async ({
    freshDatabase: { pool },
  }) => {
    const route = await aRoute(pool, 'default');
    const [message] = await accepted(pool, route, 1, () => 't1');
    await notDue(pool);
    const here = await pushHere(pool);
    // A lie: the provider knows that it failed.
    expect(await here.post(portalPush('t1', message?.recipient ?? ''))).toBe(200);
    await until(async () => (await polledOf(pool, route))[0]?.due);
    await allApplied(pool, 1);
    expect(await polledOf(pool, route)).toMatchObject([{ state: 'submitted' }]);

    const record = {
      providerTxnId: 't1',
      providerMessageId: 'pm-t1',
      recipient: message?.recipient ?? '',
      senderId: null,
      statusWord: 'FAILED',
      status: 'failed' as const,
      cause: 'DND',
      causeClass: 'dnd',
      submittedAt: null,
      deliveredAt: null,
      evidence: {},
    };
    const reader = await readerOf(
      pool,
      recordedReads(() => ({ ...NOTHING_YET, records: [record], rowCount: 1, coversAll: true })),
    );
    await reader.round();
    expect(await polledOf(pool, route)).toMatchObject([{ state: 'failed', due: null }]);
    expect(await rowsOf(pool, 'select conflict from sendledger.outbound_message')).toEqual([{ conflict: false }]);
  });

  test('names a message of ours that is final: the report is read once more, the row stays', async ({
    freshDatabase: { pool },
  }) => {
    const route = await aRoute(pool, 'default');
    const [message] = await accepted(pool, route, 1, () => 't1');
    const trusted = await pushHere(pool, { adapter: pushAdapter({ trusted: true }) });
    await trusted.post(portalPush('t1', message?.recipient ?? ''));
    await until(async () => (await polledOf(pool, route))[0]?.state === 'delivered');
    await pool.query('update sendledger.submission set poll_at = null');
    const here = await pushHere(pool);
    await here.post(portalPush('t1', message?.recipient ?? '', { ErrorCode: '', Status: 'FAILED' }));
    await until(async () => (await polledOf(pool, route))[0]?.due);
    expect(await polledOf(pool, route)).toMatchObject([{ state: 'delivered' }]);
  });

  test('names nothing of ours: it waits', async ({ freshDatabase: { pool } }) => {
    const route = await aRoute(pool, 'default');
    await accepted(pool, route, 1, () => 't1');
    await notDue(pool);
    const here = await pushHere(pool);
    expect(await here.post(portalPush('another', '919999999999'))).toBe(200);
    await until(async () => (await rowsOf(pool, 'select 1 from sendledger.delivery_receipt where looks > 0')).length);
    expect(await polledOf(pool, route)).toMatchObject([{ state: 'submitted', due: false }]);
  });
});

describe('a push that is trusted', () => {
  test('moves its row by itself', async ({ freshDatabase: { pool } }) => {
    const route = await aRoute(pool, 'default');
    const [first, second] = await accepted(pool, route, 2, (i) => `t${i}`);
    await notDue(pool);
    const here = await pushHere(pool, { adapter: pushAdapter({ trusted: true, words: { 'ErrorCode 27': 'failed' } }) });
    await here.post(portalPush('t0', first?.recipient ?? ''));
    await here.post(portalPush('t1', second?.recipient ?? '', { ErrorCode: '27' }));
    await allApplied(pool, 2);
    // Their reports are not read for it.
    expect(await polledOf(pool, route)).toMatchObject([
      { state: 'delivered', due: false },
      { state: 'failed', due: false },
    ]);
  });

  /** FC-27 */
  for (const trusted of [true, false])
    test(`two statuses of one message id are two receipts, the same twice is one (${trusted ? 'evidence' : 'hints'})`, async ({
      freshDatabase: { pool },
    }) => {
      const route = await aRoute(pool, 'default');
      const [message] = await accepted(pool, route, 1, () => 't1');
      await notDue(pool);
      const here = await pushHere(pool, { adapter: pushAdapter({ trusted }) });
      const said = (Status: string) => here.post(portalPush('t1', message?.recipient ?? '', { ErrorCode: '', Status }));
      for (const status of ['SUBMITTED', 'SUBMITTED', 'DELIVRD', 'DELIVRD', 'SUBMITTED'])
        expect(await said(status)).toBe(200);
      await allApplied(pool, 2);
      expect((await receipts(pool)).map(({ word }) => word)).toEqual(['SUBMITTED', 'DELIVRD']);
      expect(await polledOf(pool, route)).toMatchObject([{ state: trusted ? 'delivered' : 'submitted' }]);
    });

  test('twice, shuffled and all at once: every row ends as its final receipt says', async ({
    freshDatabase: { pool },
  }) => {
    const route = await aRoute(pool, 'default');
    const messages = await accepted(pool, route, 32, (i) => `t${i}`);
    await notDue(pool);
    const here = await pushHere(pool, { adapter: pushAdapter({ trusted: true }) });
    const final = (i: number) => (i % 4 === 0 ? 'FAILED' : 'DELIVRD');
    const pushes = messages.flatMap(({ recipient }, i) =>
      ['SUBMITTED', final(i)].map((Status) => portalPush(`t${i}`, recipient, { ErrorCode: '', Status })),
    );
    const twice = [...pushes, ...pushes].map((push, i) => ({ push, place: (i * 7_919) % 163 }));
    twice.sort((one, other) => one.place - other.place);
    // 503 is an answer: the provider comes again.
    await Promise.all(twice.map(({ push }) => until(async () => (await here.post(push)) === 200)));
    await allApplied(pool, 64);
    const rows = await rowsOf<{ state: string; n: number }>(
      pool,
      'select state::text, count(*)::int as n from sendledger.outbound_message group by state order by state::text',
    );
    expect(rows).toEqual([
      { state: 'delivered', n: 24 },
      { state: 'failed', n: 8 },
    ]);
    expect(await rowsOf(pool, 'select 1 from sendledger.outbound_message where conflict')).toEqual([]);
  });
});
