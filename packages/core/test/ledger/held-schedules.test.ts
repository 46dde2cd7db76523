import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { claim, markNext, rowsOf } from '../../src/ledger/index.ts';
import { claimRequest, markRequest } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

const MINUTE = 60_000;
const at = (minutes: number) => new Date(Math.floor(Date.now() / 1_000) * 1_000 + minutes * MINUTE).toISOString();

/** A route whose provider holds what it is given ten minutes before its time. */
async function holding(pool: pg.Pool): Promise<Scene> {
  const s = await scene(pool);
  await pool.query(
    `update sendledger.route set schedule_lead = interval '10 minutes', provider_zone = 'Asia/Kolkata' where id = $1`,
    [s.routeId],
  );
  return s;
}

const held = (s: Scene, recipient: string, scheduledFor: string, more: Readonly<Record<string, unknown>> = {}) => ({
  route: s.name,
  recipient,
  more: { scheduled_for: scheduledFor, held_by: 'provider', ...more },
});

async function rows(pool: pg.Pool, s: Scene) {
  return rowsOf<{ state: string; held_by: string; due: number; submission: string | null; not_after: number | null }>(
    pool,
    `select m.state::text, m.held_by, round(extract(epoch from m.due_at - now()) / 60)::integer as due, m.submission_id as submission,
       (select round(extract(epoch from x.not_after - now()) / 60)::integer from sendledger.submission x where x.id = m.submission_id) as not_after
     from sendledger.outbound_message m where m.route_id = $1 order by m.recipient`,
    [s.routeId],
  );
}

const request = (s: Scene) => ({ ...claimRequest(s), leaseMs: MINUTE });

describe('a schedule that the provider holds', () => {
  test('is handed over at once, and before its lead', async ({ database: { pool } }) => {
    const s = await holding(pool);
    await enqueue(pool, [held(s, '919000000001', at(120))]);
    expect(await rows(pool, s)).toMatchObject([{ state: 'pending', held_by: 'provider', due: 0 }]);
    expect(await claim(pool, request(s))).toMatchObject({ rows: 1 });
    expect(await rows(pool, s)).toMatchObject([{ state: 'claimed', held_by: 'provider', not_after: 110 }]);
    const [submission] = await markNext(pool, markRequest(s));
    expect(submission?.rows[0]?.holdUntil?.getTime()).toBe(
      Date.parse(
        String(
          (
            await rowsOf<{ at: Date }>(
              pool,
              'select scheduled_for as at from sendledger.outbound_message where route_id = $1',
              [s.routeId],
            )
          )[0]?.at,
        ),
      ),
    );
  });

  test('shares a request with what has the same time, and with nothing else', async ({ database: { pool } }) => {
    const s = await holding(pool);
    await enqueue(pool, [
      held(s, '919000000001', at(120)),
      held(s, '919000000002', at(120)),
      held(s, '919000000003', at(121)),
      { route: s.name, recipient: '919000000004' },
    ]);
    expect(await claim(pool, request(s))).toMatchObject({ rows: 4, submissions: 3 });
    const [a, b, c, d] = (await rows(pool, s)).map((row) => row.submission);
    expect(a).toBe(b);
    expect(new Set([a, c, d]).size).toBe(3);
  });

  test.for([
    ['too near its time', 9, {}],
    ['no provider that holds', 120, { lead: null }],
  ] as const)('%s: we hold it (or it is refused)', async ([, minutes, options], { database: { pool } }) => {
    const s = await holding(pool);
    if ('lead' in options) {
      await pool.query('update sendledger.route set schedule_lead = null where id = $1', [s.routeId]);
      await expect(enqueue(pool, [held(s, '919000000001', at(minutes))])).rejects.toThrow('held_by');
      return;
    }
    await enqueue(pool, [held(s, '919000000001', at(minutes))]);
    expect(await rows(pool, s)).toMatchObject([{ state: 'pending', held_by: 'us', due: minutes }]);
    expect(await claim(pool, request(s))).toMatchObject({ rows: 0, postponed: 0 });
  });

  test('not claimed in time, it comes home and is due at its time', async ({ database: { pool } }) => {
    const s = await holding(pool);
    await enqueue(pool, [held(s, '919000000001', at(120))]);
    await pool.query(`update sendledger.route set schedule_lead = interval '3 hours' where id = $1`, [s.routeId]);
    expect(await claim(pool, request(s))).toMatchObject({ rows: 0, postponed: 1 });
    expect(await rows(pool, s)).toMatchObject([{ state: 'pending', held_by: 'us', due: 120 }]);
  });

  test('at a time outside the window it is held by us, and leaves when that opens', async ({ database: { pool } }) => {
    const s = await holding(pool);
    await pool.query(
      `update sendledger.lane set window_opens = ((now() at time zone 'UTC') + interval '3 h')::time(0),
         window_closes = ((now() at time zone 'UTC') + interval '4 h')::time(0), window_zone = 'UTC' where route_id = $1`,
      [s.routeId],
    );
    await enqueue(pool, [held(s, '919000000001', at(120)), held(s, '919000000002', at(200))]);
    const [outside, inside] = await rows(pool, s);
    expect(outside).toMatchObject({ held_by: 'us', due: 180 });
    expect(inside).toMatchObject({ held_by: 'provider', due: 0 });
    // The window is shut now, which is nothing to what leaves then.
    expect(await claim(pool, request(s))).toMatchObject({ rows: 1, postponed: 0 });
    // It was moved since: what waits is judged again.
    const s2 = await holding(pool);
    await enqueue(pool, [held(s2, '919000000001', at(200))]);
    await pool.query(
      `update sendledger.lane set window_opens = ((now() at time zone 'UTC') + interval '5 h')::time(0),
         window_closes = ((now() at time zone 'UTC') + interval '6 h')::time(0), window_zone = 'UTC' where route_id = $1`,
      [s2.routeId],
    );
    expect(await claim(pool, request(s2))).toMatchObject({ rows: 0, postponed: 1 });
    expect(await rows(pool, s2)).toMatchObject([{ held_by: 'us', due: 300 }]);
  });

  test('at a time that the clock of the provider says twice it is held by us', async ({ database: { pool } }) => {
    const s = await holding(pool);
    await pool.query(`update sendledger.route set provider_zone = 'Europe/Berlin' where id = $1`, [s.routeId]);
    await enqueue(pool, [
      // 02:30 in both readings, and 03:30 on the last Sunday of October 2027.
      held(s, '919000000001', '2027-10-31T00:30:00Z'),
      held(s, '919000000002', '2027-10-31T01:30:00Z'),
      held(s, '919000000003', '2027-10-31T02:30:00Z'),
    ]);
    expect((await rows(pool, s)).map((row) => row.held_by)).toEqual(['us', 'us', 'provider']);
  });

  test('moved to a time that the clock of the provider says twice, it comes home', async ({ database: { pool } }) => {
    const s = await holding(pool);
    await pool.query(`update sendledger.route set provider_zone = 'Europe/Berlin' where id = $1`, [s.routeId]);
    await pool.query(`update sendledger.lane set submit_within = interval '5 years' where route_id = $1`, [s.routeId]);
    const [message] = await enqueue(pool, [held(s, '919000000001', '2027-10-30T10:00:00Z')]);
    expect(await rows(pool, s)).toMatchObject([{ held_by: 'provider' }]);
    const [moved] = await rowsOf<{ answer: string }>(
      pool,
      `select answer from sendledger.move_schedule('shop', $1, '2027-10-31T00:30:00Z', null, false, 'a person', 'a test')`,
      [message?.id],
    );
    expect(moved).toEqual({ answer: 'moved' });
    expect(await claim(pool, request(s))).toMatchObject({ rows: 0, postponed: 1 });
    expect(await rows(pool, s)).toMatchObject([{ held_by: 'us' }]);
  });

  test('never a one-time password', async ({ database: { pool } }) => {
    const s = await holding(pool);
    await expect(enqueue(pool, [{ ...held(s, '919000000001', at(120)), messageClass: 'otp' }])).rejects.toThrow(
      'held_by',
    );
  });
});
