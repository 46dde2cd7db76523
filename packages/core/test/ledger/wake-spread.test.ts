import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { applyOutcomes, durably, rowsOf, wakeSpread } from '../../src/ledger/index.ts';
import { marked, outcomeOf } from './on-the-way.ts';
import { type Scene, scene } from './scene.ts';

const ACCOUNTS = ['smsgatewaycenter/default'];
const SOON = () => new Date(Date.now() + 60_000);

/** Submissions whose reports are awaited in two hours. */
async function awaited(pool: pg.Pool, s: Scene, count: number, state: 'accepted' | 'ambiguous') {
  const prefix = state === 'accepted' ? '9190' : '9191';
  const submissions = await marked(
    pool,
    s,
    Array.from({ length: count }, (_, i) => ({ recipient: `${prefix}${10_000_000 + i}` })),
  );
  await durably(pool, (sql) =>
    applyOutcomes(
      sql,
      submissions.map((m) => outcomeOf(m, state, { pollInMs: 7_200_000 })),
    ),
  );
  return submissions;
}

const plans = (pool: pg.Pool) =>
  rowsOf<{ id: string; state: string; inS: number }>(
    pool,
    `select id, state, extract(epoch from poll_at - now())::double precision as "inS" from sendledger.submission
     where poll_at is not null order by id`,
  );

async function wide(pool: pg.Pool) {
  const s = await scene(pool, { maxBatch: 1 });
  await pool.query('update sendledger.route set max_in_flight_requests = 5000, max_open_submissions = 5000');
  return s;
}

describe('what is awaited after receipts may have been lost', () => {
  test('is spread over a time that grows with its number, ambiguous ones at once, in more than a batch', async ({
    freshDatabase: { pool },
  }) => {
    const s = await wide(pool);
    for (let some = 0; some < 5; some++) await awaited(pool, s, 250, 'accepted');
    await awaited(pool, s, 10, 'ambiguous');
    const { woken, spanMs } = await wakeSpread(pool, ACCOUNTS, SOON());
    expect({ woken, spanMs }).toEqual({ woken: 1_260, spanMs: 63_000 });
    const after = await plans(pool);
    expect(after.filter((p) => p.state === 'ambiguous' && p.inS > 0)).toEqual([]);
    const accepted = after.filter((p) => p.state === 'accepted').map((p) => p.inS);
    expect(Math.max(...accepted)).toBeLessThanOrEqual(63);
    // Spread: each third of the span has its share, within far more than chance.
    for (const from of [0, 20, 40]) {
      const share = accepted.filter((inS) => inS > from && inS <= from + 20).length;
      expect(share).toBeGreaterThan(250);
      expect(share).toBeLessThan(600);
    }

    // Called again and again, it does not hasten what it spread, but for the little by which the span has shrunk meanwhile.
    for (let again = 0; again < 3; again++) await wakeSpread(pool, ACCOUNTS, SOON());
    const now = new Map((await plans(pool)).map((p) => [p.id, p.inS]));
    const hastened = after.filter((p) => p.state === 'accepted' && p.inS - (now.get(p.id) ?? 0) > 20);
    expect(hastened.length).toBeLessThan(125);
  });

  test('no poll becomes later, none of another account or of after the time is moved, nor what nobody awaits', async ({
    freshDatabase: { pool },
  }) => {
    const s = await wide(pool);
    const [soon, ended, ...others] = await awaited(pool, s, 40, 'accepted');
    await pool.query(`update sendledger.submission set poll_at = now() + interval '200 ms' where id = $1`, [soon?.id]);
    await pool.query('update sendledger.submission set poll_at = null where id = $1', [ended?.id]);
    const before = new Map((await plans(pool)).map((p) => [p.id, p.inS]));
    expect(await wakeSpread(pool, ['smsgatewaycenter/other'], SOON())).toEqual({ woken: 0, spanMs: 0 });
    expect(await wakeSpread(pool, ACCOUNTS, new Date(0))).toEqual({ woken: 0, spanMs: 0 });
    expect((await plans(pool)).filter((p) => p.inS < 7_000)).toHaveLength(1);
    expect((await wakeSpread(pool, ACCOUNTS, SOON())).woken).toBe(others.length);
    const after = await plans(pool);
    expect(after).toHaveLength(39);
    expect(after.filter((p) => p.inS > 2 || p.inS > (before.get(p.id) ?? 0))).toEqual([]);
  });
});
