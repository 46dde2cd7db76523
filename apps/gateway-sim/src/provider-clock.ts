import { DateTime } from 'luxon';

const ZONE = 'Asia/Kolkata';

/** The report's human form, `July 13, 2019 03:44:48`. @param at milliseconds since the epoch. */
export function reportTime(at: number): string {
  return DateTime.fromMillis(at, { zone: ZONE, locale: 'en' }).toFormat('LLLL dd, yyyy HH:mm:ss');
}

/** The send reply's form, `2026-07-17 00:20:09`. @param at milliseconds since the epoch. */
export function requestTime(at: number): string {
  return DateTime.fromMillis(at, { zone: ZONE }).toFormat('yyyy-MM-dd HH:mm:ss');
}
