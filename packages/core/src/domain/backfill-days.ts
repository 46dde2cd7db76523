import { SendledgerError } from './errors.ts';

/** Days in one run at most: a year. */
export const MOST_BACKFILL_DAYS = 366;

const DAY_MS = 86_400_000;

/** An account by whose clock a day begins and ends. */
export interface DayClock {
  readonly provider: string;
  readonly account: string;
  /** IANA zone. */
  readonly zone: string;
}

/**
 * The days of a backfill, both ends included. A day that is not over has no report yet: the provider's covers what is past, and a
 * report of half a day would pass for the whole of it.
 *
 * @param from `YYYY-MM-DD`
 * @throws SendledgerError SENDLEDGER_BACKFILL_REFUSED
 */
export function backfillDays(from: string, to: string, clocks: readonly DayClock[], now: Date): string[] {
  for (const day of [from, to])
    if (!isDay(day)) throw refused(`${JSON.stringify(day)} is no day; write it as 2026-07-17.`);
  if (to < from) throw refused(`It would end on ${to}, before it begins on ${from}.`);
  const count = (midnight(to) - midnight(from)) / DAY_MS + 1;
  if (count > MOST_BACKFILL_DAYS)
    throw refused(`${count} days are more than ${MOST_BACKFILL_DAYS}; make several runs of it.`);
  for (const { provider, account, zone } of clocks) {
    const today = dayIn(zone, now);
    if (to >= today) {
      const yesterday = dayAt(midnight(today) - DAY_MS);
      throw refused(
        `${to} is not over for ${provider}/${account}, where it is ${today} (${zone}); end it on ${yesterday} at the latest.`,
      );
    }
  }
  return Array.from({ length: count }, (_, i) => dayAt(midnight(from) + i * DAY_MS));
}

/** The day on the calendar of a zone. */
export function dayIn(zone: string, at: Date): string {
  // This locale writes a date as year, month, day.
  return new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(
    at,
  );
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(midnight(text)) && dayAt(midnight(text)) === text;
}

const midnight = (day: string) => Date.parse(`${day}T00:00:00Z`);
const dayAt = (ms: number) => new Date(ms).toISOString().slice(0, 10);

const refused = (detail: string) => new SendledgerError('SENDLEDGER_BACKFILL_REFUSED', detail);
