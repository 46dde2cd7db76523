import type { MessageFault } from './message-problem.ts';

export type Instant = { readonly ok: true; readonly at: Date } | { readonly ok: false; readonly reason: MessageFault };

const ISO = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})?$/;
const MAX_OFFSET_MINUTES = 14 * 60;

/**
 * Reads an instant. A text must be ISO 8601 with `Z` or `±hh:mm`: without an offset it would mean another moment on
 * every host. Days that do not exist are refused; JavaScript alone would move 30 February to 2 March. What is finer than
 * a millisecond is cut off.
 */
export function readInstant(value: string | Date): Instant {
  if (value instanceof Date) {
    return inRange(value) ? { ok: true, at: value } : { ok: false, reason: 'not_a_time' };
  }
  const read = readFields(value);
  if (read === undefined) return { ok: false, reason: 'not_a_time' };
  if (read.offset === undefined) return { ok: false, reason: 'no_offset' };
  const at = new Date(value);
  if (
    Number.isNaN(at.getTime()) ||
    Math.abs(at.getTime() - read.asIfUtc.getTime()) > MAX_OFFSET_MINUTES * 60_000 + 999
  ) {
    return { ok: false, reason: 'not_a_time' };
  }
  return readInstant(at);
}

/**
 * The time that the clocks of some zone show, as `YYYY-MM-DDTHH:MM:SS.sss`: of a text like an instant, but without an offset.
 * Undefined for anything else. An hour that a zone skips in spring is one too: what it means is for whoever knows the zone's rules.
 */
export function readWallClock(value: string | Date): string | undefined {
  if (value instanceof Date) return undefined;
  const read = readFields(value);
  return read === undefined || read.offset !== undefined ? undefined : read.asIfUtc.toISOString().slice(0, -1);
}

/** The fields of a text, as if they were UTC, and its offset. Undefined where that is no time, or one far away. */
function readFields(text: string): { readonly asIfUtc: Date; readonly offset: string | undefined } | undefined {
  const parts = text.length > 40 ? null : ISO.exec(text);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second = '00', fraction = '', offset] = parts;
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const asIfUtc = new Date(`${local}.${fraction.slice(0, 3).padEnd(3, '0')}Z`);
  const exists = !Number.isNaN(asIfUtc.getTime()) && asIfUtc.toISOString().startsWith(local);
  return exists && inRange(asIfUtc) ? { asIfUtc, offset } : undefined;
}

function inRange(at: Date): boolean {
  const year = at.getUTCFullYear();
  return year >= 1970 && year <= 9999;
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
