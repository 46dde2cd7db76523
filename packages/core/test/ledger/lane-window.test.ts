import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  addRoute,
  type LaneWindow,
  listRoutes,
  rowsOf,
  setLaneWindow,
  setRouteBounds,
} from '../../src/ledger/index.ts';
import { enqueue, type Scene, scene } from './scene.ts';

const BY = { who: 'meera', why: 'the rules of the regulator' };

/** A window that is closed now and opens in some hours, whatever the time of day. */
function closedNow(): LaneWindow {
  const hour = new Date().getUTCHours();
  const at = (hours: number) => `${String((hour + hours) % 24).padStart(2, '0')}:00`;
  return { opens: at(6), closes: at(12), zone: 'UTC' };
}

async function waiting(pool: pg.Pool, s: Scene) {
  return rowsOf<{ state_reason: string | null; due: boolean; on_time: boolean }>(
    pool,
    `select state_reason, due_at <= now() as due, due_at = scheduled_for as on_time from sendledger.outbound_message
     where route_id = $1 order by coalesce(state_reason, ''), scheduled_for nulls first`,
    [s.routeId],
  );
}

describe('the send window of a lane', () => {
  test('is set, seen, changed and cleared, each with who and why', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const windows = async () => (await listRoutes(pool)).find((r) => r.id === s.routeId)?.windows;
    expect(await windows()).toEqual([]);
    const day = { opens: '10:00', closes: '21:00', zone: 'Asia/Kolkata' };
    const night = { opens: '20:30', closes: '24:00', zone: 'Europe/Berlin' };
    expect(await setLaneWindow(pool, s.routeId, 'promotional', day, BY)).toBe(true);
    expect(await setLaneWindow(pool, s.routeId, 'transactional', night, BY)).toBe(true);
    expect(await windows()).toEqual([
      { messageClass: 'transactional', ...night },
      { messageClass: 'promotional', ...day },
    ]);
    expect(await setLaneWindow(pool, s.routeId, 'promotional', null, BY)).toBe(true);
    expect(await windows()).toEqual([{ messageClass: 'transactional', ...night }]);
    const logged = await rowsOf<{ who: string; why: string; details: unknown }>(
      pool,
      `select who, why, details from sendledger.audit_log where action = 'lane_window_set' and subject = $1 order by id`,
      [`route ${s.routeId}`],
    );
    expect(logged).toEqual([
      { ...BY, details: { messageClass: 'promotional', window: day } },
      { ...BY, details: { messageClass: 'transactional', window: night } },
      { ...BY, details: { messageClass: 'promotional', window: null } },
    ]);
  });

  test('is not set without a reason, of a lane that is not there, or in a zone that is none', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const day = { opens: '10:00', closes: '21:00', zone: 'Asia/Kolkata' };
    await expect(setLaneWindow(pool, s.routeId, 'otp', day, { who: 'meera', why: ' ' })).rejects.toMatchObject({
      code: 'SENDLEDGER_REASON_NEEDED',
    });
    expect(await setLaneWindow(pool, '999999', 'otp', day, BY)).toBe(false);
    await expect(setLaneWindow(pool, s.routeId, 'otp', { ...day, zone: 'Mars/Olympus' }, BY)).rejects.toMatchObject({
      constraint: 'lane_window_whole',
    });
    expect(await rowsOf(pool, `select 1 from sendledger.audit_log where subject = $1`, [`route ${s.routeId}`])).toEqual(
      [],
    );
  });

  test('that is cleared lets what waited for it go: put off by a claim, or due at the opening since it was enqueued', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const other = await scene(pool);
    for (const { routeId } of [s, other]) await setLaneWindow(pool, routeId, 'promotional', closedNow(), BY);
    const ad = { messageClass: 'promotional' as const };
    const rows = await enqueue(pool, [
      ...Array.from({ length: 4 }, () => ({ ...ad, route: s.name })),
      { ...ad, route: other.name },
    ]);
    const [, putOff, unpriced, scheduled] = rows;
    await pool.query(`update sendledger.outbound_message set state_reason = 'outside_window' where id = $1`, [
      putOff?.id,
    ]);
    await pool.query(
      `update sendledger.outbound_message set state_reason = 'no_rate', due_at = now() + interval '1 min' where id = $1`,
      [unpriced?.id],
    );
    await pool.query(`update sendledger.outbound_message set scheduled_for = now() + interval '2 h' where id = $1`, [
      scheduled?.id,
    ]);
    expect((await waiting(pool, s)).map((row) => row.due)).toEqual([false, false, false, false]);

    await setLaneWindow(pool, s.routeId, 'promotional', null, BY);
    expect(await waiting(pool, s)).toEqual([
      { state_reason: null, due: true, on_time: null },
      { state_reason: null, due: true, on_time: null },
      { state_reason: null, due: false, on_time: true },
      // It waits for a price, and not for the window.
      { state_reason: 'no_rate', due: false, on_time: null },
    ]);
    expect(await waiting(pool, other)).toMatchObject([{ due: false }]);
  });

  test('lets a backlog go in batches', async ({ database: { pool } }) => {
    const s = await scene(pool);
    await setLaneWindow(pool, s.routeId, 'promotional', closedNow(), BY);
    await enqueue(pool, [{ messageClass: 'promotional', route: s.name }]);
    await pool.query(
      `insert into sendledger.outbound_message (tenant_id, business_key, event_type, event_id, channel, message_class, recipient, route_id,
         provider, body, encoding, segments, due_at, submit_by, state_reason)
       select 'shop', 'window-' || n, 'order', 'e', 'sms', 'promotional', '919999999999', $1, 'smsgatewaycenter', 'x', 'GSM7', 1,
         now() + interval '6 h', now() + interval '1 day', 'outside_window'
       from generate_series(1, 10500) n`,
      [s.routeId],
    );
    const statements: number[] = [];
    const counting = {
      query: async (text: string, values?: unknown[]) => {
        const answered = await pool.query(text, values);
        statements.push(answered.rowCount ?? 0);
        return answered;
      },
    };
    await setLaneWindow(counting, s.routeId, 'promotional', null, BY);
    expect(statements).toEqual([1, 0, 10_000, 501, 0]);
    const left = await rowsOf(
      pool,
      'select 1 from sendledger.outbound_message where route_id = $1 and due_at > now()',
      [s.routeId],
    );
    expect(left).toEqual([]);
  });
});

describe('a route', () => {
  test('is made with the windows it is given, and with none of its own', async ({ database: { pool } }) => {
    const route = {
      provider: 'smsgatewaycenter',
      account: 'default',
      channel: 'sms' as const,
      maxBatch: 1,
      encodingRule: 'ascii' as const,
      providerZone: 'Asia/Kolkata',
      defaultSenderId: null,
      senderRequired: false,
      nationalDigits: null,
    };
    await addRoute(pool, { ...route, name: 'always-open' });
    const day = { opens: '10:00', closes: '21:00', zone: 'Asia/Kolkata' };
    await addRoute(pool, { ...route, name: 'by-day', windows: { promotional: day } });
    const windows = Object.fromEntries((await listRoutes(pool)).map((r) => [r.name, r.windows]));
    expect(windows['always-open']).toEqual([]);
    expect(windows['by-day']).toEqual([{ messageClass: 'promotional', ...day }]);
  });

  test('holds schedules from a lead time on, or none', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const lead = async () => (await listRoutes(pool)).find((r) => r.id === s.routeId)?.scheduleLead;
    expect(await lead()).toBeNull();
    await setRouteBounds(pool, s.routeId, { scheduleLead: '5 minutes' }, BY);
    expect(await lead()).toBe('00:05:00');
    await setRouteBounds(pool, s.routeId, { maxInFlightRows: 7 }, BY);
    expect(await lead()).toBe('00:05:00');
    await setRouteBounds(pool, s.routeId, { scheduleLead: 'none' }, BY);
    expect(await lead()).toBeNull();
  });
});
