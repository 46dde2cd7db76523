import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scheduleText } from '../src/index.ts';

const INDIA = 'Asia/Kolkata';
const BERLIN = 'Europe/Berlin';
const NEW_YORK = 'America/New_York';

const text = (instant: string, zone: string, channel: 'sms' | 'whatsapp' = 'sms') =>
  scheduleText(new Date(instant), channel, zone);

describe('the local time of a schedule', () => {
  it('has seconds for SMS and none for WhatsApp', () => {
    expect(text('2026-07-17T06:30:00Z', INDIA)).toBe('2026-07-17 12:00:00');
    expect(text('2026-07-17T06:30:00Z', INDIA, 'whatsapp')).toBe('2026-07-17 12:00');
    expect(text('2026-01-02T03:04:05Z', 'UTC')).toBe('2026-01-02 03:04:05');
  });

  it.each([
    ['2026-07-17T06:30:00.001Z', '2026-07-17 12:00:01', '2026-07-17 12:01'],
    ['2026-07-17T06:29:59.999Z', '2026-07-17 12:00:00', '2026-07-17 12:00'],
    ['2026-07-17T06:30:01Z', '2026-07-17 12:00:01', '2026-07-17 12:01'],
    ['2026-12-31T18:29:59.5Z', '2027-01-01 00:00:00', '2027-01-01 00:00'],
    ['2028-02-28T18:29:59.5Z', '2028-02-29 00:00:00', '2028-02-29 00:00'],
  ])('is never earlier than %s', (instant, sms, whatsapp) => {
    expect(text(instant, INDIA)).toBe(sms);
    expect(text(instant, INDIA, 'whatsapp')).toBe(whatsapp);
  });

  it.each([
    ['the last second before the gap', '2026-03-29T00:59:59Z', '2026-03-29 01:59:59'],
    ['rounded up over the gap', '2026-03-29T00:59:59.001Z', '2026-03-29 03:00:00'],
    ['the first second after it', '2026-03-29T01:00:00Z', '2026-03-29 03:00:00'],
  ])('steps over the hour that Berlin leaves out: %s', (_, instant, local) => {
    expect(text(instant, BERLIN)).toBe(local);
  });

  it.each([
    ['2026-10-24T23:59:00Z', '2026-10-25 01:59:00', '2026-10-25 01:59'],
    ['2026-10-24T23:59:59Z', '2026-10-25 01:59:59', null],
    ['2026-10-24T23:59:59.001Z', null, null],
    ['2026-10-25T00:00:00Z', null, null],
    ['2026-10-25T00:59:59Z', null, null],
    ['2026-10-25T00:59:59.001Z', null, null],
    ['2026-10-25T01:00:00Z', null, null],
    ['2026-10-25T01:59:59Z', null, '2026-10-25 03:00'],
    ['2026-10-25T01:59:59.001Z', '2026-10-25 03:00:00', '2026-10-25 03:00'],
    ['2026-10-25T02:00:00Z', '2026-10-25 03:00:00', '2026-10-25 03:00'],
  ])('is not said in the hour that Berlin has twice: %s is %s and %s', (instant, sms, whatsapp) => {
    expect(text(instant, BERLIN)).toBe(sms);
    expect(text(instant, BERLIN, 'whatsapp')).toBe(whatsapp);
  });

  it.each([
    ['2026-03-08T06:59:59Z', '2026-03-08 01:59:59'],
    ['2026-03-08T07:00:00Z', '2026-03-08 03:00:00'],
    ['2026-11-01T04:59:59Z', '2026-11-01 00:59:59'],
    ['2026-11-01T05:00:00Z', null],
    ['2026-11-01T06:59:59Z', null],
    ['2026-11-01T07:00:00Z', '2026-11-01 02:00:00'],
  ])('in New York %s is %s', (instant, local) => {
    expect(text(instant, NEW_YORK)).toBe(local);
  });

  it.each([
    ['half an hour', 'Australia/Lord_Howe', '2026-04-04T14:45:00Z'],
    ['most of a day', 'Pacific/Kwajalein', '1969-09-30T20:00:00Z'],
  ])('is not said either where the clocks go back by %s', (_, zone, instant) => {
    expect(text(instant, zone)).toBeNull();
  });

  it('has four digits of a year, or is not said', () => {
    expect(text('0000-01-01T00:00:00Z', 'UTC')).toBe('0000-01-01 00:00:00');
    expect(text('0099-06-01T00:00:00Z', 'UTC')).toBe('0099-06-01 00:00:00');
    expect(text('-000001-12-31T23:59:59Z', 'UTC')).toBeNull();
    expect(text('9999-12-31T23:59:59Z', 'UTC')).toBe('9999-12-31 23:59:59');
    expect(text('9999-12-31T23:59:59.001Z', 'UTC')).toBeNull();
    expect(text('9999-12-31T23:59:59Z', INDIA)).toBeNull();
    expect(scheduleText(new Date(8.64e15), 'sms', INDIA)).toBeNull();
    expect(scheduleText(new Date(-8.64e15), 'sms', INDIA)).toBeNull();
  });

  it.each(['Mars/Olympus', '', 'local', 'system', 'UTC+5'])('needs an IANA zone, which %j is not', (zone) => {
    expect(text('2026-07-17T06:30:00Z', zone)).toBeNull();
  });

  it('needs a time', () => {
    expect(scheduleText(new Date(Number.NaN), 'sms', INDIA)).toBeNull();
  });

  it.each(['voice', 'rcs', 'telegram'] as const)('is not guessed for %s, which documents no form', (channel) => {
    expect(scheduleText(new Date('2026-07-17T06:30:00Z'), channel, INDIA)).toBeNull();
  });
});

const CHANNELS = { sms: 1_000, whatsapp: 60_000 } as const;
const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC');
const channels = fc.constantFrom('sms' as const, 'whatsapp' as const);

function year(from: number, to: number) {
  return fc.date({ min: new Date(Date.UTC(from, 0)), max: new Date(Date.UTC(to, 0)), noInvalidDate: true });
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** `YYYY-MM-DD HH:MM:SS` as the runtime itself shows it, without the library that wrote the text. */
function shown(instant: number, zone: string): string {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
    clocks.set(zone, clock);
  }
  return clock.format(instant);
}

/** Every instant at which the clocks of the zone show this text; offsets have been whole quarters of an hour since 1980. */
function instantsShowing(local: string, zone: string): number[] {
  const quarter = 900_000;
  const asUtc = Date.parse(`${local.replace(' ', 'T')}Z`);
  const instants = [];
  for (let offset = -56 * quarter; offset <= 56 * quarter; offset += quarter)
    if (shown(asUtc - offset, zone) === local) instants.push(asUtc - offset);
  return instants;
}

describe('for any instant and zone', () => {
  it('the text is shown once by the clocks there, not before the instant and less than one unit after it', () => {
    let unsaid = 0;
    fc.assert(
      fc.property(year(1980, 2037), zones, channels, (at, zone, channel) => {
        const said = scheduleText(at, channel, zone);
        const unit = CHANNELS[channel];
        if (said === null) {
          unsaid += 1;
          const rounded = Math.ceil(at.getTime() / unit) * unit;
          expect(instantsShowing(shown(rounded, zone), zone).length).toBeGreaterThan(1);
          return;
        }
        const instants = instantsShowing(channel === 'sms' ? said : `${said}:00`, zone);
        expect(instants).toHaveLength(1);
        expect(instants[0]).toBeGreaterThanOrEqual(at.getTime());
        expect(instants[0]).toBeLessThan(at.getTime() + unit);
      }),
      { numRuns: 3_000 },
    );
    expect(unsaid).toBeLessThan(30);
  });

  it('the same holds within two hours of a change of the clocks', () => {
    const changes = [
      [BERLIN, '2026-03-29T01:00:00Z'],
      [BERLIN, '2026-10-25T01:00:00Z'],
      [NEW_YORK, '2026-03-08T07:00:00Z'],
      [NEW_YORK, '2026-11-01T06:00:00Z'],
      ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
      ['Africa/Casablanca', '2026-03-22T02:00:00Z'],
      ['Pacific/Apia', '2011-12-30T10:00:00Z'],
    ] as const;
    const near = fc.integer({ min: -7_200_000, max: 7_200_000 });
    fc.assert(
      fc.property(fc.constantFrom(...changes), near, channels, ([zone, change], distance, channel) => {
        const at = Date.parse(change) + distance;
        const unit = CHANNELS[channel];
        const said = scheduleText(new Date(at), channel, zone);
        const rounded = Math.ceil(at / unit) * unit;
        const instants = instantsShowing(shown(rounded, zone), zone);
        expect(said === null).toBe(instants.length > 1);
        if (said !== null) expect(shown(rounded, zone)).toBe(channel === 'sms' ? said : `${said}:00`);
      }),
      { numRuns: 2_000 },
    );
  });

  it('of any year that the runtime writes with four digits, the clocks show the text within that second or minute', () => {
    let said = 0;
    const runs = 3_000;
    fc.assert(
      fc.property(year(1001, 9_999), zones, channels, (at, zone, channel) => {
        const text = scheduleText(at, channel, zone);
        if (text === null) return;
        said += 1;
        const whole = channel === 'sms' ? text : `${text}:00`;
        const end = at.getTime() + CHANNELS[channel];
        let instant = Math.ceil(at.getTime() / 1_000) * 1_000;
        while (instant < end && shown(instant, zone) !== whole) instant += 1_000;
        expect(instant).toBeLessThan(end);
      }),
      { numRuns: runs },
    );
    expect(said).toBeGreaterThan(0.99 * runs);
  });

  it('a text does not depend on the offset that the zone has today', () => {
    expect(text('1982-09-30T15:00:00Z', 'Asia/Tashkent')).toBe('1982-09-30 22:00:00');
  });
});
