import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { sharesOf } from '../../src/ledger/fair-turns.ts';
import { type Credits, claim, durably, markNextIn, rowsOf } from '../../src/ledger/index.ts';
import { claimRequest, markRequest } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

async function waiting(pool: pg.Pool, s: Scene, tenant: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 500)
    await enqueue(
      pool,
      Array.from({ length: Math.min(500, count - from) }, (_, i) => ({
        tenant,
        route: s.name,
        messageClass: 'promotional' as const,
        recipient: `9190${10_000_000 + from + i}`,
      })),
    );
}

const claimed = async (pool: pg.Pool, s: Scene): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await rowsOf<{ tenant: string; n: number }>(
        pool,
        `select tenant_id as tenant, count(*)::integer as n from sendledger.outbound_message
         where route_id = $1 and state = 'claimed' group by 1 order by 1`,
        [s.routeId],
      )
    ).map((row) => [row.tenant, row.n]),
  );

const request = (s: Scene, limit: number, credits: Credits = new Map()) => ({
  ...claimRequest(s, 'promotional', limit),
  credits,
});

describe('tenants of a lane take turns', () => {
  test("one tenant's backlog delays only itself, however old it is", async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await pool.query('update sendledger.route set max_open_submissions = 10000');
    await waiting(pool, s, 'big', 1_500);
    await waiting(pool, s, 'small', 10);
    await waiting(pool, s, 'tiny', 1);
    expect(await claim(pool, request(s, 90))).toMatchObject({ rows: 41, more: true });
    expect(await claimed(pool, s)).toEqual({ big: 30, small: 10, tiny: 1 });
    // Nobody else waits: the rest is one tenant's own queue, oldest first.
    expect(await claim(pool, request(s, 90))).toMatchObject({ rows: 90 });
    // And they leave in turns too: the first requests are one of each.
    const marks = await durably(pool, (sql) => markNextIn(sql, markRequest(s, 'promotional', 3)));
    const first = await rowsOf<{ tenant: string }>(
      pool,
      'select tenant_id as tenant from sendledger.outbound_message where submission_id = any ($1::bigint[]) order by 1',
      [marks.map((m) => m.id)],
    );
    expect(first.map((row) => row.tenant)).toEqual(['big', 'small', 'tiny']);
  });

  test('by weight, where a tenant has one', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await pool.query(`insert into sendledger.tenant (tenant_id, weight) values ('heavy', 3)`);
    await waiting(pool, s, 'heavy', 200);
    await waiting(pool, s, 'light', 200);
    await claim(pool, request(s, 100));
    expect(await claimed(pool, s)).toEqual({ heavy: 75, light: 25 });
  });

  test('more tenants than a claim takes: each is served within as many rounds as it needs', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const tenants = Array.from({ length: 25 }, (_, i) => `t${String(i).padStart(2, '0')}`);
    for (const tenant of tenants) await waiting(pool, s, tenant, 4);
    let credits: Credits = new Map();
    for (let round = 0; round < 3; round++) {
      const result = await claim(pool, request(s, 10, credits));
      expect(result.rows).toBe(10);
      credits = result.credits;
    }
    expect(Object.keys(await claimed(pool, s))).toEqual(tenants);
  });

  for (const limit of [1, 2, 3, 5, 7])
    test(`by weight also where a claim has room for ${limit}: over many claims it is nine to one`, async ({
      freshDatabase: { pool },
    }) => {
      const s = await scene(pool, { maxBatch: 1 });
      await pool.query(`update sendledger.route set max_open_submissions = 10000`);
      await pool.query(`insert into sendledger.tenant (tenant_id, weight) values ('heavy', 9)`);
      await waiting(pool, s, 'heavy', 120);
      await waiting(pool, s, 'light', 120);
      let credits: Credits = new Map();
      let rows = 0;
      while (rows < 70) {
        const result = await claim(pool, request(s, limit, credits));
        rows += result.rows;
        credits = result.credits;
      }
      const { light = 0 } = await claimed(pool, s);
      expect(Math.abs(light - rows / 10)).toBeLessThanOrEqual(limit);
    });

  test('a tenant that waits for its time takes nothing from the others, and gathers no claim', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await waiting(pool, s, 'later', 3);
    await pool.query(`update sendledger.outbound_message set due_at = now() + interval '1 h' where state = 'pending'`);
    await waiting(pool, s, 'now', 60);
    let credits: Credits = new Map();
    for (let round = 0; round < 10; round++) {
      const result = await claim(pool, request(s, 1, credits));
      expect(result.rows).toBe(1);
      credits = result.credits;
    }
    expect(await claimed(pool, s)).toEqual({ now: 10 });
  });

  test('two claimers at once take nothing twice and starve nobody', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await pool.query('update sendledger.route set max_open_submissions = 10000');
    for (const tenant of ['a', 'b', 'c']) await waiting(pool, s, tenant, 60);
    const results = await Promise.all(Array.from({ length: 6 }, () => claim(pool, request(s, 30))));
    const rows = results.reduce((sum, result) => sum + result.rows, 0);
    const by = await claimed(pool, s);
    expect(Object.values(by).reduce((sum, n) => sum + n, 0)).toBe(rows);
    expect(Object.keys(by)).toEqual(['a', 'b', 'c']);
  });
});

test('shares are by weight, one at least, and together no more than the limit and a row a tenant', () => {
  const tenants = fc.array(fc.record({ tenantId: fc.uuid(), weight: fc.integer({ min: 1, max: 1_000 }) }), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(tenants, fc.integer({ min: 1, max: 5_000 }), (all, limit) => {
      const turns = sharesOf(all, limit);
      expect(turns.map((turn) => turn.tenantId).toSorted()).toEqual(all.map((tenant) => tenant.tenantId).toSorted());
      for (const turn of turns) expect(turn.share).toBeGreaterThanOrEqual(1);
      expect(turns.reduce((sum, turn) => sum + turn.share, 0)).toBeLessThanOrEqual(limit + all.length);
    }),
  );
});
