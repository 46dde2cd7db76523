import { durably, recordReceipts, rowsOf } from '@sendledger/core/ledger';
import type { Adapter } from '@sendledger/gateway';
import { ReceiptKeeper, toReceipt } from '@sendledger/worker';
import pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { WaitingReceipts } from '../src/waiting-receipts.ts';
import { accepted, aRoute, polledOf } from './accepted-submission.ts';
import { contextOf } from './app-context.ts';
import { ACCOUNT, portalPush, pushAdapter } from './push-here.ts';

type Push = Readonly<Record<string, string>>;

/** Stores a push and does not apply it, as one does that dies in between. */
async function stored(pool: pg.Pool, routeId: string, adapter: Adapter, push: Push, account = 'default') {
  const read = adapter.readPush({ contentType: null, query: new URLSearchParams(push), body: new Uint8Array() }, 'UTC');
  if (read.kind !== 'records') throw new Error('not a push');
  const origin = {
    routeId,
    provider: adapter.provider,
    account,
    source: 'push' as const,
    hint: !adapter.capabilities.push.trusted,
  };
  return durably(pool, (sql) =>
    recordReceipts(
      sql,
      origin,
      read.records.map((record) => toReceipt(record)),
    ),
  );
}

async function waitingOf(pool: pg.Pool, adapter: Adapter): Promise<WaitingReceipts> {
  const context = await contextOf(pool);
  return new WaitingReceipts(context, new Map([[ACCOUNT, adapter]]), new ReceiptKeeper(context));
}

/** The pause of what was postponed is over. */
const passPause = (pool: pg.Pool) =>
  pool.query('update sendledger.delivery_receipt set next_look_at = now() where applied_at is null');

const receipts = (pool: pg.Pool) =>
  rowsOf<{ word: string; status: string; applied: boolean; due: boolean; looks: number }>(
    pool,
    `select status_word as word, status, applied_at is not null as applied, next_look_at <= now() as due, looks
     from sendledger.delivery_receipt order by id`,
  );

const reviews = (pool: pg.Pool) =>
  rowsOf<{ kind: string; subject: string; by: string | null; resolution: string | null }>(
    pool,
    'select kind, subject, resolved_by as by, resolution from sendledger.review_item order by id',
  );

const TRUSTED = pushAdapter({ trusted: true });

describe('a receipt that was stored and not applied', () => {
  test('is applied by the next round, as the role of the app', async ({ freshDatabase: database }) => {
    const { pool } = database;
    const route = await aRoute(pool, 'default');
    const [message] = await accepted(pool, route, 1, () => 't1');
    await stored(pool, route, TRUSTED, portalPush('t1', message?.recipient ?? ''));
    const reconcile = new pg.Pool({ connectionString: database.urlFor('sendledger_reconcile'), max: 2 });
    const waiting = await waitingOf(reconcile, TRUSTED);
    expect(await waiting.round()).toBe('none');
    expect(await polledOf(pool, route)).toMatchObject([{ state: 'delivered' }]);
    expect(await waiting.round()).toBe('none');
    await reconcile.end();
  });

  /** FC-25 */
  for (const trusted of [true, false])
    test(`came before the id it names was stored: it waits and is matched later (${trusted ? 'evidence' : 'a hint'})`, async ({
      freshDatabase: { pool },
    }) => {
      const adapter = pushAdapter({ trusted });
      const route = await aRoute(pool, 'default');
      await stored(pool, route, adapter, portalPush('t1', '919010000000'));
      const waiting = await waitingOf(pool, adapter);
      await waiting.round();
      expect(await receipts(pool)).toMatchObject([{ applied: false, due: false, looks: 1 }]);

      const [message] = await accepted(pool, route, 1, () => 't1');
      expect(message?.recipient).toBe('919010000000');
      await pool.query(`update sendledger.submission set poll_at = now() + interval '1 hour'`);
      await waiting.round();
      expect(await polledOf(pool, route)).toMatchObject([{ state: 'submitted', due: false }]);
      await passPause(pool);
      await waiting.round();
      expect(await receipts(pool)).toMatchObject([{ applied: true }]);
      expect(await polledOf(pool, route)).toMatchObject([
        trusted ? { state: 'delivered' } : { state: 'submitted', due: true },
      ]);
    });

  test('of an account that others serve: it is left to them', async ({ freshDatabase: { pool } }) => {
    const route = await aRoute(pool, 'other');
    const [message] = await accepted(pool, route, 1, () => 't1');
    await stored(pool, route, TRUSTED, portalPush('t1', message?.recipient ?? ''), 'other');
    await (await waitingOf(pool, TRUSTED)).round();
    expect(await receipts(pool)).toMatchObject([{ applied: false, due: true, looks: 0 }]);
  });

  test('and cannot be: it is set aside, and the others are applied', async ({ freshDatabase: { pool } }) => {
    const route = await aRoute(pool, 'default');
    const messages = await accepted(pool, route, 7, (i) => `t${i}`);
    const hashes: Buffer[] = [];
    for (const [i, { recipient }] of messages.entries())
      hashes.push(...(await stored(pool, route, TRUSTED, portalPush(`t${i}`, recipient))).hashes);
    const context = await contextOf(pool);
    const keeper = new ReceiptKeeper(context);
    const poisoned = hashes[3];
    const waiting = new WaitingReceipts(context, new Map([[ACCOUNT, TRUSTED]]), {
      apply: (origin, given) =>
        given.some((hash) => poisoned?.equals(hash))
          ? Promise.reject(Object.assign(new Error('a guard says no'), { code: 'P0001' }))
          : keeper.apply(origin, given),
    });
    await waiting.round();
    expect((await polledOf(pool, route)).map(({ state }) => state)).toEqual(
      messages.map((_, i) => (i === 3 ? 'submitted' : 'delivered')),
    );
    expect((await receipts(pool)).filter(({ applied }) => !applied)).toMatchObject([{ due: false, looks: 1 }]);
    // With the database away nothing is set aside: the round fails, and is made again.
    await passPause(pool);
    const away = new WaitingReceipts(context, new Map([[ACCOUNT, TRUSTED]]), {
      apply: () => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNRESET' })),
    });
    await expect(away.round()).rejects.toThrow('gone');
    expect((await receipts(pool)).filter(({ applied }) => !applied)).toMatchObject([{ due: true, looks: 1 }]);
  });
});

/** FC-51 */
describe('a word that nobody has mapped', () => {
  const push = (txn: string, recipient: string, Status = 'PARKED') =>
    portalPush(txn, recipient, { ErrorCode: '', Status });

  test('leaves the row where it is and asks once; mapped after a restart, it is applied and the question is closed', async ({
    freshDatabase: { pool },
  }) => {
    const route = await aRoute(pool, 'default');
    const messages = await accepted(pool, route, 3, (i) => `t${i}`);
    const before = await waitingOf(pool, TRUSTED);
    for (const [i, { recipient }] of messages.entries()) await stored(pool, route, TRUSTED, push(`t${i}`, recipient));
    for (let look = 0; look < 2; look++) {
      await before.round();
      await passPause(pool);
    }
    expect((await polledOf(pool, route)).map(({ state }) => state)).toEqual(['submitted', 'submitted', 'submitted']);
    expect(await receipts(pool)).toMatchObject(Array(3).fill({ word: 'PARKED', status: 'unmapped', applied: false }));
    const question = { kind: 'unmapped_status', subject: 'smsgatewaycenter PARKED' };
    expect(await reviews(pool)).toEqual([{ ...question, by: null, resolution: null }]);

    const after = await waitingOf(pool, pushAdapter({ trusted: true, words: { parked: 'failed' } }));
    await after.round();
    expect((await polledOf(pool, route)).map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
    // The word stays as it came.
    expect(await receipts(pool)).toMatchObject(Array(3).fill({ word: 'PARKED', status: 'failed', applied: true }));
    expect(await reviews(pool)).toEqual([{ ...question, by: 'sendledger', resolution: 'word_mapped' }]);
  });

  test('is asked about while a receipt still waits for it: its cause says something else', async ({
    freshDatabase: { pool },
  }) => {
    const route = await aRoute(pool, 'default');
    const [first, second] = await accepted(pool, route, 2, (i) => `t${i}`);
    await stored(pool, route, TRUSTED, push('t0', first?.recipient ?? ''));
    await stored(pool, route, TRUSTED, { ...push('t1', second?.recipient ?? ''), Cause: 'Pending' });
    const after = await waitingOf(pool, pushAdapter({ trusted: true, words: { PARKED: 'delivered' } }));
    await after.round();
    expect((await polledOf(pool, route)).map(({ state }) => state)).toEqual(['delivered', 'submitted']);
    expect(await reviews(pool)).toMatchObject([{ by: null }]);
  });

  test('of a hint is nobody’s evidence: the question closes when the word is mapped', async ({
    freshDatabase: { pool },
  }) => {
    const hinting = pushAdapter();
    const route = await aRoute(pool, 'default');
    const [message] = await accepted(pool, route, 1, () => 't1');
    await stored(pool, route, hinting, portalPush('t1', message?.recipient ?? '', { ErrorCode: '27' }));
    await (await waitingOf(pool, hinting)).round();
    expect(await receipts(pool)).toMatchObject([{ word: 'ErrorCode 27', status: 'unmapped', applied: true }]);
    expect(await reviews(pool)).toMatchObject([{ subject: 'smsgatewaycenter ErrorCode 27', by: null }]);
    await (await waitingOf(pool, pushAdapter({ words: { 'ErrorCode 27': 'failed' } }))).round();
    expect(await reviews(pool)).toMatchObject([{ by: 'sendledger' }]);
    expect(await polledOf(pool, route)).toMatchObject([{ state: 'submitted' }]);
  });
});
