import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { createProducer, MessageRefused } from '../src/index.ts';
import { aRoute } from './ledger-fixture.ts';
import { message } from './message-builder.ts';
import { SCHEDULES } from './schedules.ts';

const producer = createProducer({ tenant: 'shop' });

interface Row {
  readonly scheduled_for: Date;
  readonly scheduled_tz: string | null;
  readonly scheduled_offset_s: number | null;
  readonly held_by: string;
  readonly due_at: Date;
  readonly submit_by: Date;
}

async function rowsLike(pool: pg.Pool, prefix: string): Promise<Row[]> {
  const { rows } = await pool.query<Row>(
    `select scheduled_for, scheduled_tz, scheduled_offset_s, held_by, due_at, submit_by from sendledger.outbound_message
     where event_id like $1 || '-%' order by split_part(event_id, '-', 2)::integer`,
    [prefix],
  );
  return rows;
}

/** What a wall clock of the zone shows, `YYYY-MM-DDTHH:MM`. */
function shown(at: Date, zone: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  return format.format(at).replace(' ', 'T');
}

describe('FC-45 a schedule is the same instant', () => {
  const PROGRAM = fileURLToPath(new URL('programs/enqueue-schedules.ts', import.meta.url));

  test('whatever the zone of the process and of the connection', async ({ freshDatabase }) => {
    const { pool, url } = freshDatabase;
    const { route } = await aRoute(pool);
    await pool.query(
      `update sendledger.lane set window_opens = '10:00', window_closes = '21:00', window_zone = 'Asia/Kolkata'
       where message_class = 'promotional'`,
    );
    const ownClocks = new Set<string>();
    const all: Row[][] = [];
    for (const [process_, connection] of [
      ['UTC', 'UTC'],
      ['Asia/Singapore', 'America/New_York'],
      ['America/New_York', 'Asia/Singapore'],
      ['Europe/Berlin', 'Asia/Kathmandu'],
    ] as const) {
      const prefix = randomUUID().replaceAll('-', '');
      const child = spawn(process.execPath, [PROGRAM, url, route, prefix, connection], {
        env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', TZ: process_ },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      ownClocks.add(out);
      all.push(await rowsLike(pool, prefix));
    }
    expect(ownClocks.size).toBe(4);
    const [first, ...others] = all;
    expect(first).toHaveLength(SCHEDULES.length);
    for (const rows of others) expect(rows).toEqual(first);
    expect(first?.map((row) => [row.scheduled_for.toISOString(), row.scheduled_tz, row.scheduled_offset_s])).toEqual([
      ['2027-01-10T03:30:00.000Z', null, null],
      ['2027-01-10T09:00:00.000Z', null, null],
      ['2027-01-10T09:00:00.000Z', 'Asia/Kolkata', 19_800],
      ['2027-01-10T08:00:00.000Z', 'Europe/Berlin', 3_600],
      ['2027-01-10T03:15:30.250Z', 'Asia/Kathmandu', 20_700],
      // An hour that is skipped is as much later, one that repeats is the first of the two.
      ['2027-03-28T01:30:00.000Z', 'Europe/Berlin', 3_600],
      ['2027-10-31T00:30:00.000Z', 'Europe/Berlin', 7_200],
      ['2027-03-14T07:15:00.000Z', 'America/New_York', -18_000],
      ['2027-10-02T15:45:00.000Z', 'Australia/Lord_Howe', 37_800],
    ]);
    // 09:00 in India is before the lane opens.
    expect(first?.[0]?.due_at.toISOString()).toBe('2027-01-10T04:30:00.000Z');
  });

  test('that the clock of its zone shows, for any time of any zone', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const zones = ['Asia/Kathmandu', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata'];
    const from = Date.now() + 86_400_000;
    const samples = fc.sample(
      fc.record({ at: fc.integer({ min: from, max: from + 6 * 365 * 86_400_000 }), zone: fc.constantFrom(...zones) }),
      400,
    );
    const wanted = samples.map(({ at, zone }) => ({ local: new Date(at).toISOString().slice(0, 16), zone }));
    const prefix = randomUUID().replaceAll('-', '');
    await producer.transaction(database.pool, (tx) =>
      producer.enqueue(
        tx,
        wanted.map(({ local, zone }, i) =>
          message({ route, event: { type: 't', id: `${prefix}-${i}` }, scheduledFor: local, scheduledTz: zone }),
        ),
      ),
    );
    const rows = await rowsLike(database.pool, prefix);
    expect(rows).toHaveLength(wanted.length);
    for (const [i, { local, zone }] of wanted.entries()) {
      const at = rows[i]?.scheduled_for ?? new Date(Number.NaN);
      const [an, half] = [3_600_000, 1_800_000];
      const skipped = [an, half].find(
        (ms) => shown(at, zone) === new Date(Date.parse(`${local}Z`) + ms).toISOString().slice(0, 16),
      );
      if (skipped === undefined) expect([zone, shown(at, zone)]).toEqual([zone, local]);
      // No clock showed it: neither so much before nor so much after.
      else expect(shown(new Date(at.getTime() - skipped), zone)).not.toBe(local);
      // The first of two.
      for (const ms of [an, half]) expect(shown(new Date(at.getTime() - ms), zone)).not.toBe(local);
      expect(rows[i]?.scheduled_offset_s).toBe((Date.parse(`${local}Z`) - at.getTime()) / 1_000);
    }
  });
});

describe('FC-44 the producer', () => {
  test('refuses a time without offset or zone before any statement that writes', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const refused = producer.transaction(database.pool, (tx) =>
      producer.enqueue(tx, message({ route, scheduledFor: '2099-01-01T09:00:00' })),
    );
    await expect(refused).rejects.toThrow(MessageRefused);
    await expect(refused).rejects.toMatchObject({ problems: [{ field: 'scheduledFor', reason: 'no_offset' }] });
  });

  test('lets the database judge a deadline against a wall clock', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const zoned = { route, scheduledFor: '2099-01-01T09:00', scheduledTz: 'Asia/Kolkata' };
    const { results } = await producer.transaction(database.pool, (tx) =>
      producer.enqueue(
        tx,
        [
          message({ ...zoned, submitBy: '2099-01-01T03:30:00Z' }),
          message({ ...zoned, submitBy: '2099-01-01T03:30:00.001Z' }),
        ],
        { onProblem: 'report' },
      ),
    );
    expect(results).toMatchObject([{ answer: 'invalid', field: 'submitBy' }, { answer: 'created' }]);
  });

  test('says a zone that only the database does not know by its name', async ({ database }) => {
    const { route } = await aRoute(database.pool);
    const { results } = await producer.transaction(database.pool, (tx) =>
      producer.enqueue(tx, message({ route, scheduledTz: 'EST5EDT' }), { onProblem: 'report' }),
    );
    expect(results).toMatchObject([{ answer: 'invalid', field: 'scheduledTz', reason: 'unknown_zone' }]);
  });
});

describe('held by the provider', () => {
  test('where its route can; else the database says so by name, and what is too near is held by us', async ({
    database,
  }) => {
    const { route, routeId } = await aRoute(database.pool);
    const one = (at: Date) => message({ route, scheduledFor: at, heldBy: 'provider' });
    const inAnHour = new Date(Date.now() + 3_600_000);
    const enqueue = (at: Date) =>
      producer.transaction(database.pool, (tx) => producer.enqueue(tx, one(at), { onProblem: 'report' }));
    expect((await enqueue(inAnHour)).results).toMatchObject([
      { answer: 'invalid', field: 'heldBy', reason: 'provider_holds_none' },
    ]);
    await database.pool.query(`update sendledger.route set schedule_lead = '5 minutes' where id = $1`, [routeId]);
    const held: unknown[] = [];
    for (const at of [inAnHour, new Date(Date.now() + 60_000)]) {
      const [result] = (await enqueue(at)).results;
      const { rows } = await database.pool.query(
        'select held_by, due_at <= now() as due from sendledger.outbound_message where id = $1',
        [result?.id],
      );
      held.push(...rows);
    }
    expect(held).toEqual([
      { held_by: 'provider', due: true },
      { held_by: 'us', due: false },
    ]);
  });
});
