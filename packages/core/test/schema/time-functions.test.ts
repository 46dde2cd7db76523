import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { rowsOf } from '../../src/ledger/index.ts';
import { CHANGES, instantsOf, localText, quartersAround, readingsOf, shownAt, ZONES } from './zone-clock.ts';

type Sql = pg.Pool | pg.PoolClient;

async function wallClock(sql: Sql, asked: readonly { readonly local: number; readonly zone: string }[]) {
  return rowsOf<{ first: number; earlier: number; later: number }>(
    sql,
    `select ${['first', 'earlier', 'later'].map((name) => `(extract(epoch from w.${name}) * 1000)::double precision as ${name}`).join(', ')}
     from unnest($1::text[], $2::text[]) with ordinality as u(local, zone, n)
     cross join lateral sendledger.wall_clock(u.local::timestamp, u.zone) w order by u.n`,
    [asked.map(({ local }) => localText(local)), asked.map(({ zone }) => zone)],
  );
}

interface Window {
  readonly opens: string;
  readonly closes: string;
  readonly zone: string;
}

async function dueIn(sql: Sql, ats: readonly number[], window: Window): Promise<number[]> {
  const rows = await rowsOf<{ due: number }>(
    sql,
    `select (extract(epoch from sendledger.due_in_window(u.at, $2, $3, $4)) * 1000)::double precision as due
     from unnest($1::timestamptz[]) with ordinality as u(at, n) order by u.n`,
    [ats.map((at) => new Date(at).toISOString()), window.opens, window.closes, window.zone],
  );
  return rows.map(({ due }) => due);
}

const MINUTE = 60_000;
const DAY = 86_400_000;
const ofDay = (time: string) => Number(time.slice(0, 2)) * 60 * MINUTE + Number(time.slice(3)) * MINUTE;

/** The openings and closings around an instant, by Node's rules: the later reading opens, the earlier one closes. */
function windowsAround(
  at: number,
  { opens, closes, zone }: Window,
): { readonly opens: number; readonly closes: number }[] {
  const today = Math.floor(shownAt(at, zone) / DAY) * DAY;
  const over = ofDay(closes) <= ofDay(opens) ? DAY : 0;
  return [-2, -1, 0, 1, 2, 3].flatMap((n) => {
    const day = today + n * DAY;
    const one = {
      opens: readingsOf(day + ofDay(opens), zone).later,
      closes: readingsOf(day + ofDay(closes) + over, zone).earlier,
    };
    return one.opens < one.closes ? [one] : [];
  });
}

function expectedDue(at: number, window: Window): number {
  const next = windowsAround(at, window).find(({ closes }) => closes > at);
  if (next === undefined) throw new Error('a window opens every day');
  return Math.max(at, next.opens);
}

/** Whether the clocks show a time inside the window. */
function showsOpen(at: number, { opens, closes, zone }: Window): boolean {
  const shown = ((shownAt(at, zone) % DAY) + DAY) % DAY;
  return ofDay(closes) > ofDay(opens)
    ? shown >= ofDay(opens) && shown < ofDay(closes)
    : shown >= ofDay(opens) || shown < ofDay(closes);
}

describe('wall_clock', () => {
  test.for<[what: string, local: string, zone: string, first: string, earlier: string, later: string]>([
    [
      'a plain time',
      '2027-01-10T09:00',
      'Europe/Berlin',
      '2027-01-10T08:00Z',
      '2027-01-10T08:00Z',
      '2027-01-10T08:00Z',
    ],
    ['quarters', '2027-01-10T09:00', 'Asia/Kathmandu', '2027-01-10T03:15Z', '2027-01-10T03:15Z', '2027-01-10T03:15Z'],
    [
      'no summer time',
      '2027-07-01T09:00',
      'Asia/Kolkata',
      '2027-07-01T03:30Z',
      '2027-07-01T03:30Z',
      '2027-07-01T03:30Z',
    ],
    [
      'skipped: as much later',
      '2027-03-28T02:30',
      'Europe/Berlin',
      '2027-03-28T01:30Z',
      '2027-03-28T00:30Z',
      '2027-03-28T01:30Z',
    ],
    [
      'where the gap begins',
      '2027-03-28T02:00',
      'Europe/Berlin',
      '2027-03-28T01:00Z',
      '2027-03-28T00:00Z',
      '2027-03-28T01:00Z',
    ],
    [
      'where it ends',
      '2027-03-28T03:00',
      'Europe/Berlin',
      '2027-03-28T01:00Z',
      '2027-03-28T01:00Z',
      '2027-03-28T01:00Z',
    ],
    [
      'repeated: the first',
      '2027-10-31T02:30',
      'Europe/Berlin',
      '2027-10-31T00:30Z',
      '2027-10-31T00:30Z',
      '2027-10-31T01:30Z',
    ],
    [
      'where it repeats first',
      '2027-10-31T02:00',
      'Europe/Berlin',
      '2027-10-31T00:00Z',
      '2027-10-31T00:00Z',
      '2027-10-31T01:00Z',
    ],
    [
      'after the repeat',
      '2027-10-31T03:00',
      'Europe/Berlin',
      '2027-10-31T02:00Z',
      '2027-10-31T02:00Z',
      '2027-10-31T02:00Z',
    ],
    [
      'skipped in America',
      '2027-03-14T02:30',
      'America/New_York',
      '2027-03-14T07:30Z',
      '2027-03-14T06:30Z',
      '2027-03-14T07:30Z',
    ],
    [
      'repeated in America',
      '2027-11-07T01:30',
      'America/New_York',
      '2027-11-07T05:30Z',
      '2027-11-07T05:30Z',
      '2027-11-07T06:30Z',
    ],
    [
      'half an hour is skipped',
      '2027-10-03T02:15',
      'Australia/Lord_Howe',
      '2027-10-02T15:45Z',
      '2027-10-02T15:15Z',
      '2027-10-02T15:45Z',
    ],
    [
      'half an hour repeats',
      '2027-04-04T01:45',
      'Australia/Lord_Howe',
      '2027-04-03T14:45Z',
      '2027-04-03T14:45Z',
      '2027-04-03T15:15Z',
    ],
    [
      'a day that was skipped',
      '2011-12-30T12:00',
      'Pacific/Apia',
      '2011-12-30T22:00Z',
      '2011-12-29T22:00Z',
      '2011-12-30T22:00Z',
    ],
  ])('%s', async ([_what, local, zone, first, earlier, later], { database }) => {
    const [row] = await wallClock(database.pool, [{ local: Date.parse(`${local}Z`), zone }]);
    const ms = (text: string) => Date.parse(text);
    expect(row).toEqual({ first: ms(first), earlier: ms(earlier), later: ms(later) });
  });

  test('FC-45 every quarter of an hour of the nights on which clocks change, as Node says', async ({ database }) => {
    const asked = CHANGES.flatMap(([zone, day]) => quartersAround(day).map((local) => ({ local, zone })));
    const skippedOrTwice = asked.filter(({ local, zone }) => instantsOf(local, zone).length !== 1);
    // Berlin and New York four quarters each night, Lord Howe two.
    expect(skippedOrTwice).toHaveLength(4 * 4 + 2 * 2);
    expect(await wallClock(database.pool, asked)).toEqual(asked.map(({ local, zone }) => readingsOf(local, zone)));
  });

  test('FC-45 any time of any zone, as Node says', async ({ database }) => {
    const samples = fc.sample(
      fc.record({
        local: fc.integer({ min: Date.UTC(2024, 0), max: Date.UTC(2032, 0) }),
        zone: fc.constantFrom(...ZONES),
      }),
      600,
    );
    expect(await wallClock(database.pool, samples)).toEqual(samples.map(({ local, zone }) => readingsOf(local, zone)));
  });
});

const DAYTIME: Window = { opens: '10:00', closes: '21:00', zone: 'Asia/Kolkata' };
const NIGHT: Window = { opens: '22:00', closes: '06:00', zone: 'Europe/Berlin' };
const berlin = (opens: string, closes: string): Window => ({ opens, closes, zone: 'Europe/Berlin' });

describe('due_in_window', () => {
  test('without a window it is due when it is', async ({ database }) => {
    const [row] = await rowsOf<{ same: boolean }>(
      database.pool,
      `select sendledger.due_in_window(t.at, null, null, null) = t.at as same from (values (timestamptz '2027-01-01Z')) t(at)`,
    );
    expect(row).toEqual({ same: true });
  });

  test.for<[what: string, window: Window, at: string, due: string]>([
    ['a millisecond before it opens', DAYTIME, '2027-01-10T09:59:59.999+05:30', '2027-01-10T10:00+05:30'],
    ['as it opens', DAYTIME, '2027-01-10T10:00+05:30', '2027-01-10T10:00+05:30'],
    ['inside', DAYTIME, '2027-01-10T15:00+05:30', '2027-01-10T15:00+05:30'],
    ['a millisecond before it closes', DAYTIME, '2027-01-10T20:59:59.999+05:30', '2027-01-10T20:59:59.999+05:30'],
    ['as it closes', DAYTIME, '2027-01-10T21:00+05:30', '2027-01-11T10:00+05:30'],
    ['at night', DAYTIME, '2027-01-10T23:59+05:30', '2027-01-11T10:00+05:30'],
    ['over midnight: before it', NIGHT, '2027-01-10T23:30+01:00', '2027-01-10T23:30+01:00'],
    ['over midnight: at it', NIGHT, '2027-01-11T00:00+01:00', '2027-01-11T00:00+01:00'],
    ['over midnight: after it', NIGHT, '2027-01-11T05:59:59.999+01:00', '2027-01-11T05:59:59.999+01:00'],
    ['over midnight: as it closes', NIGHT, '2027-01-11T06:00+01:00', '2027-01-11T22:00+01:00'],
    ['over midnight: by day', NIGHT, '2027-01-11T12:00+01:00', '2027-01-11T22:00+01:00'],
    [
      'to the end of the day',
      berlin('20:00', '24:00'),
      '2027-01-10T23:59:59.999+01:00',
      '2027-01-10T23:59:59.999+01:00',
    ],
    ['at the end of the day', berlin('20:00', '24:00'), '2027-01-11T00:00+01:00', '2027-01-11T20:00+01:00'],
    ['all day: at midnight', berlin('00:00', '24:00'), '2027-01-11T00:00+01:00', '2027-01-11T00:00+01:00'],
    ['all day: on a night that skips', berlin('00:00', '24:00'), '2027-03-28T01:30Z', '2027-03-28T01:30Z'],
    // Opens inside what is skipped: at the later reading, 03:30 by the clock.
    ['opens in the gap: before', berlin('02:30', '05:00'), '2027-03-28T00:59Z', '2027-03-28T01:30Z'],
    ['opens in the gap: 03:15 is not open yet', berlin('02:30', '05:00'), '2027-03-28T01:15Z', '2027-03-28T01:30Z'],
    ['opens in the gap: 03:30 is', berlin('02:30', '05:00'), '2027-03-28T01:30Z', '2027-03-28T01:30Z'],
    // Closes inside what is skipped: at the earlier reading, 01:30 by the clock.
    ['closes in the gap: before', berlin('00:30', '02:30'), '2027-03-28T00:29Z', '2027-03-28T00:29Z'],
    ['closes in the gap: 01:30 is closed', berlin('00:30', '02:30'), '2027-03-28T00:30Z', '2027-03-28T22:30Z'],
    // A window as long as the gap, and in it, is not there that day.
    ['all of it in the gap', berlin('02:15', '02:45'), '2027-03-28T00:00Z', '2027-03-29T00:15Z'],
    // Opens inside what repeats: at the second time.
    ['opens in the repeat: the first time', berlin('02:30', '05:00'), '2027-10-31T00:30Z', '2027-10-31T01:30Z'],
    ['opens in the repeat: the second time', berlin('02:30', '05:00'), '2027-10-31T01:30Z', '2027-10-31T01:30Z'],
    // Closes inside what repeats: at the first time.
    ['closes in the repeat: before', berlin('00:30', '02:30'), '2027-10-31T00:29:59.999Z', '2027-10-31T00:29:59.999Z'],
    ['closes in the repeat: the first time', berlin('00:30', '02:30'), '2027-10-31T00:30Z', '2027-10-31T23:30Z'],
    ['closes in the repeat: the second time', berlin('00:30', '02:30'), '2027-10-31T01:15Z', '2027-10-31T23:30Z'],
    ['all of it in the repeat', berlin('02:15', '02:45'), '2027-10-31T00:20Z', '2027-11-01T01:15Z'],
    ['over a night that repeats', NIGHT, '2027-10-31T01:30Z', '2027-10-31T01:30Z'],
    ['over a night that skips', NIGHT, '2027-03-28T04:00Z', '2027-03-28T20:00Z'],
  ])('%s', async ([_what, window, at, due], { database }) => {
    expect(await dueIn(database.pool, [Date.parse(at)], window)).toEqual([Date.parse(due)]);
  });

  test('every quarter of an hour around each change, whatever the edges, as Node says', async ({ database }) => {
    const edges = ['00:00', '01:45', '02:00', '02:15', '03:00', '22:00'];
    for (const [zone, day] of CHANGES) {
      // Berlin whole; elsewhere every half hour, the hours of the change included.
      const ats = quartersAround(day).filter((_, i) => zone === 'Europe/Berlin' || i % 2 === 0);
      for (const opens of edges)
        for (const closes of [...edges, '24:00'].filter((edge) => edge !== opens)) {
          const window = { opens, closes, zone };
          const due = await dueIn(database.pool, ats, window);
          expect([window, due]).toEqual([window, ats.map((at) => expectedDue(at, window))]);
        }
    }
  });

  const anyWindow = fc
    .record({ opens: fc.nat({ max: 95 }), closes: fc.integer({ min: 1, max: 96 }), zone: fc.constantFrom(...ZONES) })
    .filter(({ opens, closes }) => opens !== closes && !(opens === 0 && closes === 96))
    .map(({ opens, closes, zone }): Window => ({ opens: quarter(opens), closes: quarter(closes), zone }));
  const quarter = (n: number) =>
    `${String(Math.floor(n / 4)).padStart(2, '0')}:${String((n % 4) * 15).padStart(2, '0')}`;

  test('is never early, never outside, the first there is, and due again at the same time', {
    timeout: 600_000,
  }, async ({ database }) => {
    const moments = fc.array(fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2030, 0) }), {
      minLength: 20,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(anyWindow, moments, async (window, ats) => {
        const due = await dueIn(database.pool, ats, window);
        expect(await dueIn(database.pool, due, window)).toEqual(due);
        for (const [i, at] of ats.entries()) {
          const then = due[i] ?? Number.NaN;
          expect(then).toBeGreaterThanOrEqual(at);
          expect([window, new Date(then), showsOpen(then, window)]).toEqual([window, new Date(then), true]);
          expect(then).toBe(expectedDue(at, window));
        }
      }),
      { numRuns: 25 },
    );
  });

  test('the zone of the session says nothing', async ({ database }) => {
    const client = await database.pool.connect();
    try {
      const asked = CHANGES.flatMap(([, day]) => quartersAround(day));
      const answers: unknown[] = [];
      for (const zone of ['UTC', 'Asia/Singapore', 'America/New_York']) {
        await client.query(`set timezone = '${zone}'`);
        answers.push([
          await dueIn(client, asked, NIGHT),
          await wallClock(
            client,
            asked.map((local) => ({ local, zone: 'Europe/Berlin' })),
          ),
        ]);
      }
      expect(answers[1]).toEqual(answers[0]);
      expect(answers[2]).toEqual(answers[0]);
    } finally {
      await client.query('reset timezone');
      client.release();
    }
  });
});

describe('read_schedule', () => {
  const HOUR_S = 3_600;
  test.for<[what: string, text: string | null, zone: string | null, at: string | null, offsetS: number | null]>([
    ['an instant', '2027-03-28T02:30:00+05:30', null, '2027-03-27T21:00Z', null],
    ['an instant in UTC', '2027-03-28T02:30:00.123Z', null, '2027-03-28T02:30:00.123Z', null],
    ['an instant beside a zone', '2027-07-01T10:00Z', 'Europe/Berlin', '2027-07-01T10:00Z', 2 * HOUR_S],
    ['a wall clock', '2027-01-10T09:00', 'Europe/Berlin', '2027-01-10T08:00Z', HOUR_S],
    ['with seconds', '2027-01-10T09:00:30.5', 'Europe/Berlin', '2027-01-10T08:00:30.500Z', HOUR_S],
    ['with a space', '2027-01-10 09:00', 'Europe/Berlin', '2027-01-10T08:00Z', HOUR_S],
    ['of quarters', '2027-01-10T09:00', 'Asia/Kathmandu', '2027-01-10T03:15Z', 20_700],
    ['to the west', '2027-01-10T09:00', 'America/New_York', '2027-01-10T14:00Z', -5 * HOUR_S],
    // What was meant is 02:30, by the clock that was in force: minus UTC that is one hour.
    ['that is skipped', '2027-03-28T02:30', 'Europe/Berlin', '2027-03-28T01:30Z', HOUR_S],
    ['that repeats', '2027-10-31T02:30', 'Europe/Berlin', '2027-10-31T00:30Z', 2 * HOUR_S],
    ['without a zone', '2027-01-10T09:00', null, null, null],
    ['of a zone that is none', '2027-01-10T09:00', 'Mars/Olympus', null, null],
    ['a day that does not exist', '2027-02-30T09:00', 'Europe/Berlin', null, null],
    ['an hour that does not exist', '2027-01-10T25:00', 'Europe/Berlin', null, null],
    ['a bare date', '2027-01-10', 'Europe/Berlin', null, null],
    ['a word', 'tomorrow', 'Europe/Berlin', null, null],
    ['another order', '10.01.2027 09:00', 'Europe/Berlin', null, null],
    ['nothing', null, 'Europe/Berlin', null, null],
    ['far away', '294277-01-01T00:00Z', null, null, null],
  ])('%s', async ([_what, text, zone, at, offsetS], { database }) => {
    const [row] = await rowsOf<{ at: Date | null; utc_offset_s: number | null }>(
      database.pool,
      'select * from sendledger.read_schedule($1, $2)',
      [text, zone],
    );
    expect(row).toEqual({ at: at === null ? null : new Date(at), utc_offset_s: offsetS });
  });
});

describe('zone_or_null', () => {
  test.for<[zone: string | null, known: boolean]>([
    ['Europe/Berlin', true],
    ['America/Argentina/Buenos_Aires', true],
    ['Etc/GMT+5', true],
    ['UTC', true],
    ['GMT', true],
    ['Mars/Olympus', false],
    ['+05:30', false],
    ['XYZ+5', false],
    ['<+05>-5', false],
    ['', false],
    [null, false],
  ])('%s', async ([zone, known], { database }) => {
    const rows = await rowsOf(database.pool, 'select sendledger.zone_or_null($1) as zone', [zone]);
    expect(rows).toEqual([{ zone: known ? zone : null }]);
  });
});
