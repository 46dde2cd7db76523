import type { MessageFault } from './message-problem.ts';

export type Instant = { readonly ok: true; readonly at: Date } | { readonly ok: false; readonly reason: MessageFault };

const ISO = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$/;
const MAX_OFFSET_MINUTES = 14 * 60;

/**
 * Reads an instant. A text must be ISO 8601 with `Z` or `±hh:mm`: without an offset it would mean another moment on
 * every host. Days that do not exist are refused; JavaScript alone would move 30 February to 2 March. What is finer than
 * a millisecond is cut off.
 */
export function readInstant(value: string | Date): Instant {
  if (value instanceof Date) {
    const year = value.getUTCFullYear();
    return year >= 1970 && year <= 9999 ? { ok: true, at: value } : { ok: false, reason: 'not_a_time' };
  }
  const parts = value.length > 40 ? null : ISO.exec(value);
  if (parts === null) return { ok: false, reason: 'not_a_time' };
  const [, year, month, day, hour, minute, second = '00', offset] = parts;
  if (offset === undefined) return { ok: false, reason: 'no_offset' };
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const asIfUtc = new Date(`${local}Z`);
  const exists = !Number.isNaN(asIfUtc.getTime()) && asIfUtc.toISOString().startsWith(local);
  const at = new Date(value);
  if (
    !exists ||
    Number.isNaN(at.getTime()) ||
    Math.abs(at.getTime() - asIfUtc.getTime()) > MAX_OFFSET_MINUTES * 60_000 + 999
  ) {
    return { ok: false, reason: 'not_a_time' };
  }
  return readInstant(at);
}

/** True for a zone by its IANA name. A bare offset is not a zone: it knows no summer time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
