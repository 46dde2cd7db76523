import { rowsOf } from '@sendledger/core/ledger';
import { createLog } from '@sendledger/worker';
import pg from 'pg';
import { describe, expect, vi } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { freePort } from '../../../infra/local/src/index.ts';
import { UnreadPushes } from '../src/push-unread.ts';
import { accepted, aRoute } from './accepted-submission.ts';
import { ACCOUNT, portalPush, pushHere } from './push-here.ts';

/** A clock that is set by hand. */
function clock() {
  let now = 0;
  return {
    now: () => now,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const later = (pool: pg.Pool) =>
  pool.query(`update sendledger.submission set poll_at = now() + interval '1 hour' where poll_at is not null`);
const woken = async (pool: pg.Pool, routeId: string) =>
  (
    await rowsOf<{ soon: boolean }>(
      pool,
      `select poll_at < now() + interval '5 s' as soon from sendledger.submission where route_id = $1 order by id`,
      [routeId],
    )
  ).map(({ soon }) => soon);

describe('a push that nobody can read', () => {
  test('makes the reports of its account due soon, once a minute, and is complained of as often', async ({
    freshDatabase: database,
  }) => {
    const { pool } = database;
    const ours = await aRoute(pool, 'default');
    const theirs = await aRoute(pool, 'other');
    await accepted(pool, ours, 3, (i) => `ours-${i}`);
    await accepted(pool, theirs, 1, (i) => `theirs-${i}`);
    await later(pool);
    const reconcile = new pg.Pool({ connectionString: database.urlFor('sendledger_reconcile'), max: 4 });
    const log = createLog('reconcile', 'silent', 'test');
    const warned = vi.spyOn(log, 'warn');
    const { now, pass } = clock();
    const unread = new UnreadPushes({ pool: reconcile, log }, now);
    const here = await pushHere(reconcile, { unread, bodyLimit: 1_024 });
    const warnings = () => warned.mock.calls.map(([fields, event]) => [event, (fields as { pushes?: number }).pushes]);

    // What a portal tries an address with says nothing, and neither does what can be read or does not know the secret.
    for (const [method, body] of [['GET', null], ['POST', '']] as const) await fetch(here.url, { method, body }); // biome-ignore format: one row
    expect(await here.post(portalPush('t-0', '919000000001'))).toBe(200);
    await fetch(`${here.url}x`, { method: 'POST', body: 'what=1' });
    await unread.round();
    expect(await woken(pool, ours)).toEqual([false, false, false]);
    expect(warnings()).toEqual([]);

    expect(await here.post({ other_fields: '1' })).toBe(200);
    expect(await here.post({ other_fields: '2' })).toBe(200);
    await unread.round();
    expect(await woken(pool, ours)).toEqual([true, true, true]);
    expect(await woken(pool, theirs)).toEqual([false]);
    expect(warnings()).toEqual([['push_unreadable', 1]]);

    await later(pool);
    expect(await here.post({ other_fields: '3' })).toBe(200);
    await unread.round();
    pass(59_999);
    await unread.round();
    expect(await woken(pool, ours)).toEqual([false, false, false]);
    pass(1);
    await unread.round();
    expect(await woken(pool, ours)).toEqual([true, true, true]);

    // A minute of silence is one: nothing new came.
    await later(pool);
    pass(60_000);
    await unread.round();
    expect(await woken(pool, ours)).toEqual([false, false, false]);

    const long = await fetch(here.url, { method: 'POST', body: 'x'.repeat(2_000) });
    expect(long.status).toBe(413);
    await unread.round();
    expect(await woken(pool, ours)).toEqual([true, true, true]);
    expect(warnings()).toEqual([
      ['push_unreadable', 1],
      ['push_unreadable', 3],
    ]);

    await later(pool);
    pass(60_000);
    await fetch(`${here.url}?Odd=1`);
    await unread.round();
    expect(await woken(pool, ours)).toEqual([true, true, true]);
    await here.server.close();
    await reconcile.end();
  });

  test('while the database is away it is kept in mind, and nothing is thrown', async ({ freshDatabase: { pool } }) => {
    const ours = await aRoute(pool, 'default');
    await accepted(pool, ours, 1, () => 't');
    await later(pool);
    const nowhere = new pg.Pool({ connectionString: `postgres://nobody@127.0.0.1:${await freePort()}/none`, max: 1 });
    let way = nowhere;
    const { now, pass } = clock();
    const context = {
      log: createLog('reconcile', 'silent', 'test'),
      get pool() {
        return way;
      },
    };
    const unread = new UnreadPushes(context, now);
    unread.saw(ACCOUNT, 'other fields', 10);
    expect(await unread.round()).toBe('none');
    way = pool;
    pass(60_000);
    await unread.round();
    expect(await woken(pool, ours)).toEqual([true]);
    await nowhere.end();
  });
});
