import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { claim, HINT_LAG_MS, type LaneHint, lanesWithWork, nextHint, startOfLane } from '../../src/ledger/index.ts';
import { claimRequest } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

const many = (s: Scene, count: number, from = 0, tenant = 'shop') =>
  Array.from({ length: count }, (_, i) => ({ route: s.name, tenant, recipient: `9190${10_000_000 + from + i}` }));

/** Makes what waits due so many seconds ago. */
const dueAgo = (pool: pg.Pool, s: Scene, seconds: number) =>
  pool.query(
    `update sendledger.outbound_message set due_at = now() - $2 * interval '1 s' where route_id = $1 and state = 'pending'`,
    [s.routeId, seconds],
  );

describe('a claim that knows where the rows of its lane begin', () => {
  test('takes what a claim without it takes, to the last row', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 10 });
    await enqueue(pool, [...many(s, 30), ...many(s, 25, 100, 'other')]);
    await dueAgo(pool, s, 60);
    let hint: LaneHint | undefined;
    let claimed = 0;
    for (let round = 0; round < 20; round++) {
      const result = await claim(pool, {
        ...claimRequest(s, 'transactional', 8),
        ...(hint === undefined ? {} : { hint }),
      });
      claimed += result.rows;
      hint = result.hint ?? undefined;
    }
    expect(claimed).toBe(55);
  });

  test('does not see what came back behind its beginning; without it that is seen', async ({ database: { pool } }) => {
    const s = await scene(pool);
    await enqueue(pool, many(s, 4));
    await dueAgo(pool, s, 60);
    const { hint } = await claim(pool, claimRequest(s, 'transactional', 2));
    // One that came back is due as it was before.
    await enqueue(pool, many(s, 1, 50));
    await pool.query(
      `update sendledger.outbound_message set due_at = now() - interval '2 min' where route_id = $1 and recipient = '919010000050' and state = 'pending'`,
      [s.routeId],
    );
    expect(await claim(pool, { ...claimRequest(s), ...(hint === null ? {} : { hint }) })).toMatchObject({ rows: 2 });
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1 });
  });

  test('never hides a fresh row: it lags behind the newest', async ({ database: { pool } }) => {
    const s = await scene(pool);
    await enqueue(pool, many(s, 3));
    const { hint } = await claim(pool, claimRequest(s));
    // As if its transaction had begun a few seconds before the others were claimed.
    await enqueue(pool, many(s, 1, 50));
    await dueAgo(pool, s, (HINT_LAG_MS - 2_000) / 1_000);
    expect(await claim(pool, { ...claimRequest(s), ...(hint === null ? {} : { hint }) })).toMatchObject({ rows: 1 });
  });

  test('lanes are found behind their beginning, and those without one from the start', async ({
    freshDatabase: { pool },
  }) => {
    const [a, b] = [await scene(pool), await scene(pool)];
    await enqueue(pool, [...many(a, 2), ...many(b, 2, 20)]);
    await dueAgo(pool, a, 60);
    const past = new Map([[a.routeId, { dueAt: new Date(Date.now() - 30_000), id: '0' }]]);
    expect((await lanesWithWork(pool, 'transactional')).map((lane) => lane.routeId)).toEqual([a.routeId, b.routeId]);
    expect((await lanesWithWork(pool, 'transactional', past)).map((lane) => lane.routeId)).toEqual([b.routeId]);
  });
});

describe('what the next claim may begin with', () => {
  const row = fc.record({
    tenantId: fc.constantFrom('a', 'b', 'c'),
    dueAt: fc.integer({ min: 0, max: 100_000 }).map((ms) => new Date(ms)),
    id: fc.integer({ min: 1, max: 1_000 }).map(String),
  });
  const tenants = ['a', 'b', 'c'].map((tenantId) => ({ tenantId, weight: 1 }));

  test('is never within the lag of now, and never ahead of a tenant that gave nothing', () => {
    fc.assert(
      fc.property(fc.array(row), fc.integer({ min: 0, max: 200_000 }), (picked, now) => {
        const hint = nextHint(tenants, picked, new Date(now), undefined);
        if (hint === null) throw new Error('a hint was expected');
        for (const [tenantId, start] of hint.from) {
          expect(Number(start.dueAt)).toBeLessThanOrEqual(now - HINT_LAG_MS);
          expect(picked.some((one) => one.tenantId === tenantId)).toBe(true);
        }
        const lane = startOfLane(hint);
        if (hint.from.size < tenants.length) expect(lane.dueAt).toBe('-infinity');
        else
          for (const start of hint.from.values())
            expect(Number(start.dueAt)).toBeGreaterThanOrEqual(Number(lane.dueAt));
      }),
    );
  });
  test('is nothing where nothing was picked', () => {
    expect(nextHint(tenants, [], null, undefined)).toBeNull();
  });
});
