import { rowsOf } from '@sendledger/core/ledger';
import pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { until } from '../../../test/support/settled.ts';
import { accepted, aRoute } from './accepted-submission.ts';
import { portalPush, pushAdapter, pushHere } from './push-here.ts';

const stored = async (pool: pg.Pool) =>
  (
    await rowsOf<{ txn: string }>(pool, 'select provider_txn_id as txn from sendledger.delivery_receipt order by txn')
  ).map(({ txn }) => txn);

/** Of an error of Postgres, its code. */
const databaseError = (code: string) => Object.assign(new Error('refused'), { code });

describe('200 is said when the receipt is on disk, and 503 at once when it is not', () => {
  test('what was answered 200 is there, as the role of the app', async ({ freshDatabase: database }) => {
    await aRoute(database.pool, 'default');
    const reconcile = new pg.Pool({ connectionString: database.urlFor('sendledger_reconcile'), max: 4 });
    const here = await pushHere(reconcile);
    for (let i = 0; i < 5; i++) {
      expect(await here.post(portalPush(`t${i}`, `91900000000${i}`))).toBe(200);
      expect(await stored(database.pool)).toHaveLength(i + 1);
    }
    await here.server.close();
    await reconcile.end();
  });

  test('a database that does not answer in time: 503 for each, a bound on those that wait, and nothing is lost when it does', async ({
    freshDatabase: database,
  }) => {
    const [message] = await accepted(database.pool, await aRoute(database.pool, 'default'), 1, () => 't0');
    const refused: string[] = [];
    const here = await pushHere(database.pool, {
      adapter: pushAdapter({ trusted: true }),
      storeWithinMs: 50,
      storesAtOnce: 2,
      outage: { refused: (reason) => refused.push(reason) },
    });
    const blocker = await database.pool.connect();
    await blocker.query('begin; lock table sendledger.delivery_receipt in access exclusive mode');
    const push = (i: number) => here.post(portalPush(`t${i}`, message?.recipient ?? ''));
    expect(await push(0)).toBe(503);
    // Known to be away: refused without another try, until the pause is over; then the second place is tried, and there are no more.
    expect(await push(1)).toBe(503);
    await until(async () => (await push(2)) === 503 && refused.at(-1) === 'the database is slow' && refused.length > 2);
    await until(async () => (await push(3)) === 503 && refused.at(-1) === 'too many at once');
    expect(await stored(blocker as unknown as pg.Pool)).toEqual([]);

    await blocker.query('commit');
    blocker.release();
    // The two that were on their way arrive, also into the row, although their clients were told otherwise.
    await until(async () => (await stored(database.pool)).length === 2);
    expect(await stored(database.pool)).toEqual(['t0', 't2']);
    await until(
      async () =>
        (await rowsOf(database.pool, `select 1 from sendledger.outbound_message where state = 'delivered'`)).length,
    );
    await until(async () => (await push(4)) === 200);
    expect(await here.answered('stored')).toBe(1);
    expect(await here.answered('unavailable')).toBe(refused.length);
  });

  test('one that cannot be stored for what it holds does not make the database look away', async ({
    freshDatabase: database,
  }) => {
    await aRoute(database.pool, 'default');
    let tries = 0;
    const refused: string[] = [];
    const here = await pushHere(database.pool, {
      outage: { refused: (reason) => refused.push(reason) },
      keeper: (real) => ({
        apply: real.apply.bind(real),
        store: (origin, records) => {
          tries++;
          return records[0]?.providerTxnId === 'bad'
            ? Promise.reject(databaseError('22P05'))
            : real.store(origin, records);
        },
      }),
    });
    expect(await here.post(portalPush('bad', '919000000001'))).toBe(503);
    expect(await here.post(portalPush('good', '919000000002'))).toBe(200);
    expect([tries, refused]).toEqual([2, []]);
  });

  test('one that a deadlock was resolved against is stored once more', async ({ freshDatabase: database }) => {
    await aRoute(database.pool, 'default');
    let tries = 0;
    const here = await pushHere(database.pool, {
      keeper: (real) => ({
        apply: real.apply.bind(real),
        store: (origin, records) =>
          ++tries === 1 ? Promise.reject(databaseError('40P01')) : real.store(origin, records),
      }),
    });
    expect(await here.post(portalPush('t1', '919000000001'))).toBe(200);
    expect([tries, await stored(database.pool)]).toEqual([2, ['t1']]);
  });

  test('while it is away one push in a while tries, the others are refused without a connection', async ({
    freshDatabase: database,
  }) => {
    await aRoute(database.pool, 'default');
    let away = true;
    let tries = 0;
    const here = await pushHere(database.pool, {
      keeper: (real) => ({
        apply: real.apply.bind(real),
        store: (origin, records) => {
          tries++;
          return away ? Promise.reject(databaseError('ECONNREFUSED')) : real.store(origin, records);
        },
      }),
    });
    const push = (txn: string) => here.post(portalPush(txn, '919000000001'));
    expect(await push('first')).toBe(503);
    expect(await Promise.all(Array.from({ length: 50 }, (_, i) => push(`t${i}`)))).toEqual(Array(50).fill(503));
    // Each second that a busy machine takes for these lets one more of them try.
    expect(tries).toBeLessThan(25);
    away = false;
    await until(async () => (await push('last')) === 200);
    expect(await push('after')).toBe(200);
  });

  test('an account without a route is served as soon as it has one', async ({ freshDatabase: database }) => {
    const here = await pushHere(database.pool);
    expect(await here.post(portalPush('t1', '919000000001'))).toBe(503);
    await aRoute(database.pool, 'default');
    expect(await here.post(portalPush('t1', '919000000001'))).toBe(200);
  });

  test('receipts of an account whose routes are retired are still taken', async ({ freshDatabase: database }) => {
    const old = await aRoute(database.pool, 'default');
    const live = await aRoute(database.pool, 'default');
    await database.pool.query('update sendledger.route set retired_at = now() where id = $1', [old]);
    const routes = async () =>
      (
        await rowsOf<{ id: string }>(
          database.pool,
          'select route_id as id from sendledger.delivery_receipt order by id',
        )
      ).map(({ id }) => id);
    expect(await (await pushHere(database.pool)).post(portalPush('t1', '919000000001'))).toBe(200);
    await database.pool.query('update sendledger.route set retired_at = now()');
    expect(await (await pushHere(database.pool)).post(portalPush('t2', '919000000001'))).toBe(200);
    expect((await routes()).toSorted()).toEqual([old, live].toSorted());
  });
});
