import { MESSAGE_CLASSES, type MessageClass } from '@sendledger/core';
import type { LaneWindow } from '@sendledger/core/ledger';
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';

const INSTANT = z.iso.datetime({ offset: true });

/** Readers of option values; commander shows what they throw beside the option's name. */

export function instant(text: string): Date {
  if (!INSTANT.safeParse(text).success)
    throw new InvalidArgumentError('Give a time with its offset, e.g. 2026-03-01T00:00:00+05:30.');
  return new Date(text);
}

export const wholeBetween =
  (from: number, to: number) =>
  (text: string): number => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < from || Number(text) > to)
      throw new InvalidArgumentError(`Give a whole number from ${from} to ${to}.`);
    return Number(text);
  };

/** What is kept as the word of a person. */
export const someText = (text: string): string => matching(/\S/, 'Say it; it is kept.')(text);

export const matching =
  (pattern: RegExp, hint: string) =>
  (text: string): string => {
    if (!pattern.test(text)) throw new InvalidArgumentError(hint);
    return text;
  };

/** A zone by its IANA name, as this host knows it. */
export function zone(text: string): string {
  const hint = 'Give an IANA time zone, e.g. Asia/Kolkata.';
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/.test(text)) throw new InvalidArgumentError(hint);
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
  } catch {
    throw new InvalidArgumentError(hint);
  }
  return text;
}

/** Send windows by class; null: always open. */
export type Windows = Partial<Record<MessageClass, LaneWindow | null>>;

const WINDOW = /^([a-z]+)=(?:(none)|([01]\d|2[0-3]):([0-5]\d)-([01]\d:[0-5]\d|2[0-3]:[0-5]\d|24:00)@(.+))$/;
const WINDOW_HINT = 'Give CLASS=HH:MM-HH:MM@ZONE, e.g. promotional=10:00-21:00@Asia/Kolkata, or CLASS=none.';

/** Reads one more `CLASS=HH:MM-HH:MM@ZONE` or `CLASS=none` to those before it. */
export function window(text: string, before: Windows = {}): Windows {
  const [, name, none, hour, minute, closes = '', zoneName = ''] = WINDOW.exec(text) ?? [];
  const messageClass = MESSAGE_CLASSES.find((one) => one === name);
  if (messageClass === undefined) throw new InvalidArgumentError(WINDOW_HINT);
  if (Object.hasOwn(before, messageClass)) throw new InvalidArgumentError(`${messageClass} is named twice.`);
  if (none !== undefined) return { ...before, [messageClass]: null };
  const opens = `${hour}:${minute}`;
  if (opens === closes) throw new InvalidArgumentError('A window that opens when it closes is none, or always open.');
  return { ...before, [messageClass]: { opens, closes, zone: zone(zoneName) } };
}

/** `5m` → `5 minutes`: an interval as the database reads it; `none` stays. */
export function leadTime(text: string): string {
  if (text === 'none') return text;
  const [, amount, unit = ''] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('Give a time like 90s, 5m, 2h or 1d, or none.');
  return `${amount} ${{ s: 'seconds', m: 'minutes', h: 'hours', d: 'days' }[unit]}`;
}

/** Whole reports of an account that are read a minute at most. */
export const readsPerMinute = matching(
  /^(none|[1-9]\d{0,6}(\.\d{1,4})?|0\.(?=\d*[1-9])\d{1,4})$/,
  'Reports a minute, e.g. 6 or 0.5, or none.',
);
