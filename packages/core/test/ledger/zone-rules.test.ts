import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { applyOutcomes } from '../../src/ledger/apply-outcome.ts';
import { durably, followZoneRules, rowsOf } from '../../src/ledger/index.ts';
import { marked, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

const HOUR = 3_600_000;
const soon = (hours: number) => new Date(Math.floor(Date.now() / 60_000) * 60_000 + hours * HOUR);

/** A wall-clock schedule in Kathmandu, five hours and three quarters ahead of UTC. */
const inKathmandu = (s: Scene, at: Date, recipient = '919000000001') => ({
  route: s.name,
  recipient,
  more: { scheduled_for: at.toISOString(), scheduled_tz: 'Asia/Kathmandu' },
});

/** As if the zone had been so many seconds ahead of UTC when the schedule was read. */
const readUnder = (pool: pg.Pool, s: Scene, offset: number) =>
  pool.query(
    `update sendledger.outbound_message m set scheduled_offset_s = $2 where m.route_id = $1 and m.state in ('pending', 'retry', 'submitted')`,
    [s.routeId, offset],
  );

const times = (pool: pg.Pool, s: Scene) =>
  rowsOf<{ at: Date; offset: number; due: Date; worth: number }>(
    pool,
    `select m.scheduled_for as at, m.scheduled_offset_s as offset, m.due_at as due, extract(epoch from m.submit_by - m.scheduled_for)::integer as worth
     from sendledger.outbound_message m where m.route_id = $1 order by m.recipient`,
    [s.routeId],
  );

const follow = (pool: pg.Pool) => durably(pool, (sql) => followZoneRules(sql, 100));

describe('a wall-clock schedule whose zone gets other rules (FC-44)', () => {
  test('the wall clock stays, and the instant moves; so does its validity', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    const at = soon(3);
    await enqueue(pool, [inKathmandu(s, at)]);
    expect(await times(pool, s)).toMatchObject([{ at, offset: 20_700 }]);
    expect(await follow(pool)).toEqual({ moved: 0, asked: 0 });
    // It was 5 h 30 when it was read: the clock that was meant shows a quarter of an hour less, and comes so much earlier.
    await readUnder(pool, s, 19_800);
    expect(await follow(pool)).toEqual({ moved: 1, asked: 0 });
    const earlier = new Date(at.getTime() - 900_000);
    expect(await times(pool, s)).toEqual([{ at: earlier, offset: 20_700, due: earlier, worth: 3_600 }]);
    expect(await follow(pool)).toEqual({ moved: 0, asked: 0 });
  });

  test('what is further away is looked at when it comes nearer; an instant without a zone never moves', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool);
    await enqueue(pool, [
      inKathmandu(s, soon(48)),
      { route: s.name, recipient: '919000000002', more: { scheduled_for: soon(3).toISOString() } },
    ]);
    await pool.query(
      `update sendledger.outbound_message set scheduled_offset_s = 19800 where scheduled_tz is not null and state = 'pending'`,
    );
    expect(await follow(pool)).toEqual({ moved: 0, asked: 0 });
  });

  test('an instant in the second of a repeated hour stays, under the same rules', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool);
    // Both readings of half past two on the last Sunday of October 2027 in Berlin.
    await enqueue(
      pool,
      ['2027-10-31T02:30:00+02:00', '2027-10-31T02:30:00+01:00'].map((at, i) => ({
        route: s.name,
        recipient: `91900000000${i}`,
        more: { scheduled_for: at, scheduled_tz: 'Europe/Berlin' },
      })),
    );
    const before = await times(pool, s);
    expect(before.map((row) => row.at.toISOString())).toEqual(['2027-10-31T00:30:00.000Z', '2027-10-31T01:30:00.000Z']);
    // As if it were that day: the same statement without its horizon.
    const far = await pool.query(
      (await import('../../src/ledger/zone-rules.ts')).WALL_CLOCKS.replace(
        /and m\.scheduled_for < now\(\) \+ interval '25 hours'/,
        '',
      ),
    );
    expect(far.rows).toEqual([]);
  });

  test('held by the provider: it is asked to send at the new time, once', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    await pool.query(`update sendledger.route set schedule_lead = interval '1 minute' where id = $1`, [s.routeId]);
    const at = soon(3);
    await pool.query(`update sendledger.lane set submit_within = interval '2 days'`);
    const submission = only(
      await marked(pool, s, [{ ...inKathmandu(s, at), more: { ...inKathmandu(s, at).more, held_by: 'provider' } }]),
    );
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'accepted')]));
    await readUnder(pool, s, 19_800);
    expect(await follow(pool)).toEqual({ moved: 0, asked: 1 });
    expect(await follow(pool)).toEqual({ moved: 0, asked: 0 });
    const asked = await rowsOf(
      pool,
      'select kind, move_to, scheduled_for, requested_by from sendledger.schedule_change',
    );
    expect(asked).toEqual([
      { kind: 'move', move_to: new Date(at.getTime() - 900_000), scheduled_for: at, requested_by: 'sendledger' },
    ]);
  });
});
