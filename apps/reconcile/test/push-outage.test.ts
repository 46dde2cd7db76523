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
/** Whether its report is due within the span over which so many are spread; null where it is never read again. */
const soonOf = async (pool: pg.Pool, route: string) => {
  const rows = await rowsOf<{ soon: boolean | null }>(
    pool,
    `select s.poll_at <= now() + (select count(*) from sendledger.submission) / 20.0 * interval '1 s' as soon
     from sendledger.submission s where s.route_id = $1 order by s.id`,
    [route],
  );
  return rows.map(({ soon }) => soon);
};
const dueOf = async (pool: pg.Pool, route: string) => (await polledOf(pool, route)).map(({ due }) => due);

describe('receipts that may have been lost', () => {
  test('every start makes what is awaited due soon, once: of its own accounts, and not what nobody awaits', async ({
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
    expect(await soonOf(pool, ours)).toEqual([null, true, true]);
    expect(await dueOf(pool, theirs)).toEqual([false, false]);
    await notDue(pool);
    await outage.round();
    expect(await soonOf(pool, ours)).toEqual([null, false, false]);
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
    const anySoon = async () => (await soonOf(pool, route)).some((soon) => soon);
    const allSoon = async () => (await soonOf(pool, route)).every((soon) => soon);

    expect(await dueOf(pool, route)).toHaveLength(1_250);
    // Away from the start on: nothing is thrown, and the window stays open.
    for (let i = 0; i < 3; i++) expect(await outage.round()).toBe('none');
    expect(await anySoon()).toBe(false);
    way = pool;
    await outage.round();
    expect(await allSoon()).toBe(true);

    for (let outages = 0; outages < 2; outages++) {
      await notDue(pool);
      await outage.round();
      outage.refused('the database is away');
      // Pushes are still being refused: what they lose now would be missed.
      await outage.round();
      expect(await anySoon()).toBe(false);
      await until(async () => {
        await outage.round();
        return allSoon();
      });
    }
    await notDue(pool);
    await outage.round();
    expect(await anySoon()).toBe(false);
    await nowhere.end();
  });
});
