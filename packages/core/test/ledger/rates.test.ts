import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  claim,
  durably,
  endWorker,
  lanesWithOpenSubmissions,
  markNextIn,
  registerWorker,
  reportLimiter,
  rowsOf,
  setRouteBounds,
  throttleRoute,
} from '../../src/ledger/index.ts';
import { claimRequest, marked, markRequest, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene, stateOf } from './scene.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, i) => ({ recipient: `9190${10_000_000 + i}` }));
const by = { who: 'meera', why: 'a test' };

const waitsMs = async (pool: pg.Pool, s: Scene) =>
  (
    await rowsOf<{ ms: number | null }>(
      pool,
      'select (extract(epoch from throttled_until - now()) * 1000)::double precision as ms from sendledger.route where id = $1',
      [s.routeId],
    )
  )[0]?.ms ?? null;

describe('a provider that says we are too fast (FC-41)', () => {
  test('the row comes back without an attempt used, and the whole route waits', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const first = only(await marked(pool, s));
    await enqueue(
      pool,
      numbers(3).map((m) => ({ ...m, route: s.name })),
    );
    await claim(pool, claimRequest(s));
    const throttled = outcomeOf(first, 'refused', {
      to: 'retry',
      reason: 'refused_throttled',
      throttle: { routeId: s.routeId, forMs: 60_000 },
    });
    await durably(pool, (sql) =>
      applyOutcomes(sql, [{ ...throttled, rows: throttled.rows.map((row) => ({ ...row, countsAsAttempt: false })) }]),
    );
    expect(await stateOf(pool, only(first.rows).id)).toBe('retry');
    expect(
      await rowsOf(pool, 'select attempt_count as attempts from sendledger.outbound_message where id = $1', [
        only(first.rows).id,
      ]),
    ).toEqual([{ attempts: 0 }]);
    expect(await waitsMs(pool, s)).toBeGreaterThan(50_000);
    expect(await durably(pool, (sql) => markNextIn(sql, markRequest(s)))).toEqual([]);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0 });
  });

  test('of two answers the longer pause counts', async ({ database: { pool } }) => {
    const s = await scene(pool);
    await durably(pool, (sql) => throttleRoute(sql, s.routeId, 60_000));
    await durably(pool, (sql) => throttleRoute(sql, s.routeId, 1_000));
    expect(await waitsMs(pool, s)).toBeGreaterThan(50_000);
  });
});

describe('what a claim takes', () => {
  test('is no more than the route can send before the lease is over, counted in requests', async ({
    database: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await durably(pool, (sql) => setRouteBounds(sql, s.routeId, { rate: '2.5' }, by));
    await enqueue(
      pool,
      numbers(100).map((m) => ({ ...m, route: s.name })),
    );
    const request = { ...claimRequest(s), leaseMs: 10_000 };
    expect(await claim(pool, request)).toMatchObject({ rows: 25 });
    // What is open already counts.
    expect(await claim(pool, request)).toMatchObject({ rows: 0 });
  });

  test('… and in recipients; no request is larger than the bucket', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 500 });
    const bounds = { rate: '20', rateUnit: 'recipients', burstSeconds: '1' } as const;
    await durably(pool, (sql) => setRouteBounds(sql, s.routeId, bounds, by));
    await enqueue(
      pool,
      numbers(1_000).map((m) => ({ ...m, route: s.name })),
    );
    expect(await claim(pool, { ...claimRequest(s), leaseMs: 10_000 })).toMatchObject({ rows: 200, submissions: 29 });
    const lane = (await lanesWithOpenSubmissions(pool, 'transactional')).find((l) => l.routeId === s.routeId);
    expect(lane).toMatchObject({
      waiting: 29,
      rate: { perSecond: 20, unit: 'recipients', burst: 10, reserve: 2.5, largest: 7 },
    });
    // A mark takes no more recipients than there are tokens.
    const marks = await durably(pool, (sql) => markNextIn(sql, { ...markRequest(s), rowLimit: 25 }));
    expect(marks.map((m) => m.size)).toEqual([7, 7, 7]);
  });

  test('is nothing where the rate is 0, and everything where there is none', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await enqueue(
      pool,
      numbers(50).map((m) => ({ ...m, route: s.name })),
    );
    await durably(pool, (sql) => setRouteBounds(sql, s.routeId, { rate: '0' }, by));
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0 });
    await durably(pool, (sql) => setRouteBounds(sql, s.routeId, { rate: 'none' }, by));
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 50 });
  });
});

test('processes that send see each other: alive, by bucket, and in one order', async ({ freshDatabase: { pool } }) => {
  const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((name) => registerWorker(pool, 'submit', name)));
  if (!a || !b || !c || !d) throw new Error('four were expected');
  const all = [a, b, c, d].toSorted((x, y) => Number(x.id) - Number(y.id));
  await registerWorker(pool, 'claim', 'other');
  for (const worker of all) await reportLimiter(pool, worker.id, 'own');
  const views = [];
  for (const worker of all) views.push(await reportLimiter(pool, worker.id, 'own'));
  expect(views).toEqual([0, 1, 2, 3].map((place) => ({ processes: 4, onRedis: 0, place })));
  expect(await reportLimiter(pool, all[1]?.id ?? '', 'redis')).toEqual({ processes: 4, onRedis: 1, place: null });
  expect(await reportLimiter(pool, all[2]?.id ?? '', 'own')).toEqual({ processes: 4, onRedis: 1, place: 1 });
  await endWorker(pool, all[0]?.id ?? '');
  await pool.query(`update sendledger.worker set last_seen_at = now() - interval '1 minute' where id = $1`, [
    all[3]?.id,
  ]);
  expect(await reportLimiter(pool, all[2]?.id ?? '', 'own')).toEqual({ processes: 2, onRedis: 1, place: 0 });
});
