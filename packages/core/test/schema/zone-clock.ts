/** What the clocks of the world show, by Node's own rules: what the database says of it is held against this. */

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  formats.set(zone, format);
  return format;
}

/** What the clocks of a zone show at an instant, as if that were UTC, in ms. */
export function shownAt(atMs: number, zone: string): number {
  const parts = new Map(
    formatOf(zone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? Number.NaN;
  return (
    Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) +
    (((atMs % 1000) + 1000) % 1000)
  );
}

const DAY_MS = 86_400_000;
const STEP_MS = 900_000;

/**
 * The instants at which the clocks of a zone show a time, the first one first: none where a spring skips it, two where an autumn
 * repeats it. Found by looking: every offset there is is a multiple of a quarter of an hour.
 */
export function instantsOf(localMs: number, zone: string): number[] {
  const found: number[] = [];
  for (let offset = 14 * 4; offset >= -12 * 4; offset--) {
    const at = localMs - offset * STEP_MS;
    if (shownAt(at, zone) === localMs) found.push(at);
  }
  return found;
}

/** By how much a time that no clock shows is after the last one that was, and before the first one that was again. */
function gapAround(localMs: number, zone: string): { readonly before: number; readonly after: number } {
  const offsetAt = (atMs: number) => shownAt(atMs, zone) - atMs;
  return {
    before: localMs - offsetAt(localMs - DAY_MS),
    after: localMs - offsetAt(localMs + DAY_MS),
  };
}

export interface Readings {
  readonly first: number;
  readonly earlier: number;
  readonly later: number;
}

const readings = new Map<string, Readings>();

/** The readings that `sendledger.wall_clock` is to give. Remembered: finding one takes a hundred looks at a clock. */
export function readingsOf(localMs: number, zone: string): Readings {
  const key = `${zone} ${localMs}`;
  const known = readings.get(key);
  if (known !== undefined) return known;
  const found = findReadings(localMs, zone);
  readings.set(key, found);
  return found;
}

function findReadings(localMs: number, zone: string): Readings {
  const [one, two = one] = instantsOf(localMs, zone);
  if (one !== undefined && two !== undefined) return { first: one, earlier: one, later: two };
  const { before, after } = gapAround(localMs, zone);
  return { first: before, earlier: Math.min(before, after), later: Math.max(before, after) };
}

export const localText = (localMs: number): string => new Date(localMs).toISOString().slice(0, -1);

/** Zones with every habit: quarters of an hour, half an hour of summer time, the south, none at all. */
export const ZONES = [
  'Asia/Kathmandu',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'Pacific/Chatham',
  'America/St_Johns',
  'UTC',
] as const;

/** The days around which clocks change in 2027. */
export const CHANGES: readonly (readonly [zone: string, day: string])[] = [
  ['Europe/Berlin', '2027-03-28'],
  ['Europe/Berlin', '2027-10-31'],
  ['America/New_York', '2027-03-14'],
  ['America/New_York', '2027-11-07'],
  ['Australia/Lord_Howe', '2027-04-04'],
  ['Australia/Lord_Howe', '2027-10-03'],
];

/** Every quarter of an hour from noon before a day to noon after it. */
export function quartersAround(day: string): number[] {
  const noon = Date.parse(`${day}T00:00Z`) - DAY_MS / 2;
  return Array.from({ length: 2 * 24 * 4 + 1 }, (_, i) => noon + i * STEP_MS);
}
