import { DateTime } from 'luxon';

/** A pause nobody would mean; longer ones are cut to it. */
const LONGEST_MS = 24 * 60 * 60 * 1000;

/**
 * Milliseconds of a `Retry-After` header, which is either whole seconds or an HTTP date; null where it is absent or
 * unreadable. A date is counted from the reply's own `Date` where it has one, since our clock and theirs need not agree. A
 * date in the past is 0; nothing exceeds a day.
 */
export function retryAfterMs(header: string | null, dateHeader: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (text === '') return null;
  if (/^\d{1,12}$/.test(text)) return Math.min(Number(text) * 1000, LONGEST_MS);
  const date = DateTime.fromHTTP(text);
  if (!date.isValid) return null;
  const theirNow = DateTime.fromHTTP(dateHeader?.trim() ?? '');
  return Math.min(Math.max(date.toMillis() - (theirNow.isValid ? theirNow.toMillis() : nowMs), 0), LONGEST_MS);
}
