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
