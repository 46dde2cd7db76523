import { rowsOf } from '@sendledger/core/ledger';
import type { AccountAnswer, Adapter } from '@sendledger/gateway';
import pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { accountRound } from '../src/account-watch.ts';
import { aRoute } from './accepted-submission.ts';
import { contextOf } from './app-context.ts';
import { ACCOUNT, pushAdapter } from './push-here.ts';

const OK: AccountAnswer = { kind: 'ok', balance: '5.00', empty: false };
const EMPTY: AccountAnswer = { kind: 'ok', balance: '0', empty: true };
const REFUSED: AccountAnswer = { kind: 'refused', code: '216', detail: 'Invalid credentials' };
const AWAY: AccountAnswer = { kind: 'unavailable', detail: 'no connection' };

const breakers = (pool: pg.Pool) =>
  rowsOf<{ id: string; state: string; reason: string | null; probe: Date | null }>(
    pool,
    'select id, breaker_state as state, breaker_reason as reason, probe_at as probe from sendledger.route order by id',
  );

describe('what the provider says about the account', () => {
  test('opens the breakers of its routes and no others, once; good again closes none; no answer changes nothing', async ({
    freshDatabase: database,
  }) => {
    const { pool } = database;
    const ours = [await aRoute(pool, 'default'), await aRoute(pool, 'default')];
    const retired = await aRoute(pool, 'default');
    await pool.query('update sendledger.route set retired_at = now() where id = $1', [retired]);
    for (const others of ['another', 'smsgatewaycenter'])
      await aRoute(pool, others === 'another' ? 'default' : 'other', others);
    const reconcile = new pg.Pool({ connectionString: database.urlFor('sendledger_reconcile'), max: 2 });
    const context = await contextOf(reconcile);
    let answer: AccountAnswer = AWAY as AccountAnswer;
    const adapter: Adapter = { ...pushAdapter(), account: async () => answer };
    const round = accountRound(context, new Map([[ACCOUNT, adapter]]));
    const trouble = async () => {
      const text = await context.registry.metrics();
      return text.split('\n').find((line) => line.startsWith('sendledger_account_trouble{'));
    };
    const series = `sendledger_account_trouble{account="${ACCOUNT}"}`;
    const closed = { state: 'closed', reason: null };

    // Before the first answer too: a gap in a series never fires an alarm.
    expect(await trouble()).toBe(`${series} 0`);
    expect(await round()).toBe('none');
    answer = OK;
    await round();
    expect(await trouble()).toBe(`${series} 0`);
    expect(await breakers(pool)).toMatchObject(Array(5).fill(closed));

    answer = EMPTY;
    await round();
    expect(await trouble()).toBe(`${series} 1`);
    const empty = { state: 'open', reason: 'the balance is empty' };
    const opened = await breakers(pool);
    expect(opened).toMatchObject([empty, empty, closed, closed, closed]);
    expect(opened.map(({ id }) => id).slice(0, 2)).toEqual(ours);

    // Open stays open, for the reason for which it opened, and its probe comes when it was to come.
    answer = REFUSED;
    await round();
    answer = AWAY;
    await round();
    expect(await trouble()).toBe(`${series} 1`);
    answer = OK;
    await round();
    expect(await trouble()).toBe(`${series} 0`);
    expect(await breakers(pool)).toEqual(opened);
    await reconcile.end();
  });

  test('refused: the reason says what it said', async ({ freshDatabase: { pool } }) => {
    await aRoute(pool, 'default');
    const adapter: Adapter = { ...pushAdapter(), account: async () => REFUSED };
    await accountRound(await contextOf(pool), new Map([[ACCOUNT, adapter]]))();
    expect(await breakers(pool)).toMatchObject([{ state: 'open', reason: 'the free call: Invalid credentials' }]);
  });
});
