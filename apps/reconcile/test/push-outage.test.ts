import { rowsOf } from '@sendledger/core/ledger';
import pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { freePort } from '../../../infra/local/src/index.ts';
import { until } from '../../../test/support/settled.ts';
import { PushOutage } from '../src/push-outage.ts';
import { accepted, aRoute, polledOf } from './accepted-submission.ts';
import { contextOf } from './app-context.ts';
import { ACCOUNT } from './push-here.ts';

const notDue = (pool: pg.Pool) =>
  pool.query(`update sendledger.submission set poll_at = now() + interval '1 hour' where poll_at is not null`);
const dueOf = async (pool: pg.Pool, route: string) => (await polledOf(pool, route)).map(({ due }) => due);

describe('receipts that may have been lost', () => {
  test('every start makes what is awaited due, once: of its own accounts, and not what nobody awaits', async ({
    freshDatabase: database,
  }) => {
    const { pool } = database;
    const ours = await aRoute(pool, 'default');
    const theirs = await aRoute(pool, 'other');
    await accepted(pool, ours, 3, (i) => `ours-${i}`);
    await accepted(pool, theirs, 2, (i) => `theirs-${i}`);
    await notDue(pool);
    const [first] = await rowsOf<{ id: string }>(pool, 'select min(id) as id from sendledger.submission');
    await pool.query('update sendledger.submission set poll_at = null where id = $1', [first?.id]);
    const reconcile = new pg.Pool({ connectionString: database.urlFor('sendledger_reconcile'), max: 2 });
    const outage = new PushOutage(await contextOf(reconcile), [ACCOUNT]);
    await outage.round();
    expect(await dueOf(pool, ours)).toEqual([null, true, true]);
    expect(await dueOf(pool, theirs)).toEqual([false, false]);
    await notDue(pool);
    await outage.round();
    expect(await dueOf(pool, ours)).toEqual([null, false, false]);
    await reconcile.end();
  });

  test('more than a batch, in each outage anew, and as soon as the database answers', async ({
    freshDatabase: { pool },
  }) => {
    const route = await aRoute(pool, 'default');
    await pool.query('update sendledger.route set max_in_flight_requests = 5000');
    for (let some = 0; some < 5; some++) await accepted(pool, route, 250, (i) => `t${some}-${i}`);
    await notDue(pool);
    const context = await contextOf(pool);
    const nowhere = new pg.Pool({ connectionString: `postgres://nobody@127.0.0.1:${await freePort()}/none`, max: 1 });
    let way = nowhere;
    const outage = new PushOutage(
      {
        ...context,
        get pool() {
          return way;
        },
      },
      [ACCOUNT],
    );
    const anyDue = async () => (await dueOf(pool, route)).some((due) => due);
    const allDue = async () => (await dueOf(pool, route)).every((due) => due);

    expect(await dueOf(pool, route)).toHaveLength(1_250);
    // Away from the start on: nothing is thrown, and the window stays open.
    for (let i = 0; i < 3; i++) expect(await outage.round()).toBe('none');
    expect(await anyDue()).toBe(false);
    way = pool;
    await outage.round();
    expect(await allDue()).toBe(true);

    for (let outages = 0; outages < 2; outages++) {
      await notDue(pool);
      await outage.round();
      outage.refused('the database is away');
      // Pushes are still being refused: what they lose now would be missed.
      await outage.round();
      expect(await anyDue()).toBe(false);
      await until(async () => {
        await outage.round();
        return allDue();
      });
    }
    await notDue(pool);
    await outage.round();
    expect(await anyDue()).toBe(false);
    await nowhere.end();
  });
});
