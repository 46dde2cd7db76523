import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { applyOutcomes } from '../../src/ledger/apply-outcome.ts';
import { claim, durably, expireUnsubmitted, rowsOf } from '../../src/ledger/index.ts';
import { claimRequest, marked, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

/** A window of the lane by the clock of UTC, so many minutes from now; it may lie over midnight, as the test may run at any time. */
async function windowFromNow(pool: pg.Pool, s: Scene, opens: number, closes: number, lane = 'promotional') {
  await pool.query(
    `update sendledger.lane set window_opens = ((now() at time zone 'UTC') + $3 * interval '1 min')::time(0),
       window_closes = ((now() at time zone 'UTC') + $4 * interval '1 min')::time(0), window_zone = 'UTC'
     where route_id = $1 and message_class = $2`,
    [s.routeId, lane, opens, closes],
  );
}

const noWindow = (pool: pg.Pool, s: Scene) =>
  pool.query(
    'update sendledger.lane set window_opens = null, window_closes = null, window_zone = null where route_id = $1',
    [s.routeId],
  );

interface Row {
  readonly state: string;
  readonly reason: string | null;
  /** Minutes from now. */
  readonly due: number;
  readonly not_after: number | null;
}

async function rows(pool: pg.Pool, s: Scene): Promise<Row[]> {
  return rowsOf<Row>(
    pool,
    `select m.state::text, m.state_reason as reason, round(extract(epoch from m.due_at - now()) / 60)::integer as due,
       (select round(extract(epoch from x.not_after - now()) / 60)::integer from sendledger.submission x where x.id = m.submission_id) as not_after
     from sendledger.outbound_message m where m.route_id = $1 order by m.recipient`,
    [s.routeId],
  );
}

const promo = (s: Scene, recipient: string, more?: Readonly<Record<string, unknown>>) => ({
  route: s.name,
  messageClass: 'promotional' as const,
  recipient,
  ...(more === undefined ? {} : { more }),
});

const request = (s: Scene, leaseMs = 60_000) => ({ ...claimRequest(s, 'promotional'), leaseMs });

describe('a send window (FC-44: judged when a message is claimed, in the zone that is named)', () => {
  test('that is shut: due messages move to its next opening, and none is dropped', async ({ database: { pool } }) => {
    const s = await scene(pool);
    // Made while there was no window, so that they are due now.
    await enqueue(pool, [promo(s, '919000000001'), promo(s, '919000000002'), { route: s.name }]);
    await windowFromNow(pool, s, 120, 180);
    expect(await claim(pool, request(s))).toMatchObject({ rows: 0, postponed: 2 });
    expect((await rows(pool, s)).slice(0, 2)).toEqual([
      { state: 'pending', reason: 'outside_window', due: 120, not_after: null },
      { state: 'pending', reason: 'outside_window', due: 120, not_after: null },
    ]);
    // Another class of the route has its own.
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1, postponed: 0 });
    // Not due any more: looked at once.
    expect(await claim(pool, request(s))).toMatchObject({ rows: 0, postponed: 0 });
  });

  test('that is shut: a new message is due when it opens, and its validity counts from there', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    await windowFromNow(pool, s, 120, 180);
    await enqueue(pool, [
      promo(s, '919000000001'),
      promo(s, '919000000002', { scheduled_for: new Date(Date.now() + 90 * 60_000).toISOString() }),
      promo(s, '919000000003', { scheduled_for: new Date(Date.now() + 150 * 60_000).toISOString() }),
    ]);
    expect((await rows(pool, s)).map((row) => row.due)).toEqual([120, 120, 150]);
    const validity = await rowsOf<{ minutes: number }>(
      pool,
      `select round(extract(epoch from m.submit_by - m.due_at) / 60)::integer as minutes from sendledger.outbound_message m where m.route_id = $1`,
      [s.routeId],
    );
    expect(validity.map((row) => row.minutes)).toEqual([60, 60, 60]);
  });

  test('that is open: the request has to leave before it shuts', async ({ database: { pool } }) => {
    const s = await scene(pool);
    await windowFromNow(pool, s, -60, 30);
    await enqueue(pool, [promo(s, '919000000001'), { ...promo(s, '919000000002'), body: 'another text' }]);
    await pool.query(
      `update sendledger.outbound_message set submit_by = now() + interval '10 min' where recipient = '919000000002' and route_id = $1 and state = 'pending'`,
      [s.routeId],
    );
    expect(await claim(pool, request(s))).toMatchObject({ rows: 2, postponed: 0 });
    expect((await rows(pool, s)).map((row) => row.not_after)).toEqual([30, 10]);
  });

  test('that shuts within the lease is taken as shut', async ({ database: { pool } }) => {
    const s = await scene(pool);
    await enqueue(pool, [promo(s, '919000000001')]);
    await windowFromNow(pool, s, -60, 30);
    expect(await claim(pool, request(s, 31 * 60_000))).toMatchObject({ rows: 0, postponed: 1 });
    // Its next opening is that of tomorrow.
    expect(await rows(pool, s)).toMatchObject([{ state: 'pending', due: 24 * 60 - 60 }]);
  });

  test('it moves what comes back as retry as well', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const submission = only(await marked(pool, s, [{}], 'promotional'));
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'not_sent')]));
    await windowFromNow(pool, s, 120, 180);
    expect(await claim(pool, request(s))).toMatchObject({ rows: 0, postponed: 1 });
    expect(await rows(pool, s)).toMatchObject([{ state: 'retry', due: 120, reason: 'outside_window' }]);
    await noWindow(pool, s);
    await pool.query(`update sendledger.outbound_message set due_at = now() where route_id = $1 and state = 'retry'`, [
      s.routeId,
    ]);
    expect(await claim(pool, request(s))).toMatchObject({ rows: 1 });
    expect(await rows(pool, s)).toMatchObject([{ state: 'claimed', reason: null }]);
  });

  test('FC-22: what is worthless before it opens expires, with its reason, and is counted', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool);
    await enqueue(pool, [promo(s, '919000000001')]);
    await windowFromNow(pool, s, 120, 180);
    await claim(pool, request(s));
    await pool.query(
      `update sendledger.outbound_message set submit_by = now() - interval '1 s' where route_id = $1 and state = 'pending'`,
      [s.routeId],
    );
    expect(await durably(pool, (sql) => expireUnsubmitted(sql, 100))).toBe(1);
    expect(await rows(pool, s)).toMatchObject([{ state: 'expired', reason: 'outside_window' }]);
  });

  test('a schedule that passed unclaimed expires, and says so', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    await enqueue(pool, [promo(s, '919000000001', { scheduled_for: new Date(Date.now() + 60_000).toISOString() })]);
    await pool.query(
      `update sendledger.outbound_message set scheduled_for = now() - interval '2 h', due_at = now() - interval '2 h', submit_by = now() - interval '1 h'
       where route_id = $1 and state = 'pending'`,
      [s.routeId],
    );
    expect(await claim(pool, request(s))).toMatchObject({ rows: 0 });
    expect(await durably(pool, (sql) => expireUnsubmitted(sql, 100))).toBe(1);
    expect(await rows(pool, s)).toMatchObject([{ state: 'expired', reason: 'schedule_passed' }]);
  });

  test('there is no open message without a time at which it is looked at next (FC-22)', async ({
    database: { pool },
  }) => {
    const columns = await rowsOf<{ name: string }>(
      pool,
      `select a.attname as name from pg_attribute a where a.attrelid = 'sendledger.outbound_message'::regclass and a.attnotnull
       and a.attname in ('due_at', 'submit_by')`,
    );
    expect(columns.map((column) => column.name).toSorted()).toEqual(['due_at', 'submit_by']);
  });
});
