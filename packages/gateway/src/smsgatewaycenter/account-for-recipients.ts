import type { JsonObject } from '../normalise/parse-json.ts';
import { numberList, numberMatcher, withCountryCode } from './number-match.ts';

export interface Accounting {
  readonly rejected: readonly string[];
  readonly unaccounted: readonly string[];
  readonly strangers: readonly string[];
  /** The echo names readable numbers and none of them is ours: this answer is about another request. */
  readonly foreign: boolean;
}

const LONGEST_STRANGER = 40;
/** Digits with some of them hidden. */
const MASKED = /\d[xX*#•]{2}|[xX*#•]{2}\d/;

/**
 * Which of our numbers a success covers. `invalidMobile` is applied first and wins over the echo. Then the echo
 * (`mobile`), whose form is not documented:
 *
 * - absent or empty: the success stands for everybody who was not refused
 * - every entry is a number: ours that are neither in it nor refused are unaccounted
 * - any entry is not a number (masked, a count, cut off): it is no list of the accepted, so it says as little as an
 *   absent one. Calling everybody unknown instead would turn one change of format into a review of the whole traffic,
 *   while the provider has said in so many words that the request succeeded
 *
 * A refused list of an unknown shape leaves everybody unaccounted, since anybody may be in it.
 */
export function accountForRecipients(fields: JsonObject, ours: readonly string[], countryCode: string): Accounting {
  const match = numberMatcher(ours, countryCode);
  const refused = numberList(fields.invalidMobile);
  // A masked number may be anybody's of ours.
  if (refused === null || refused.some((entry) => MASKED.test(entry))) {
    return { rejected: [], unaccounted: ours, strangers: ['unreadable invalidMobile'], foreign: false };
  }
  const rejected = new Set<string>();
  const strangers: string[] = [];
  for (const entry of refused) {
    const own = match(entry);
    if (own === null) strangers.push(entry.slice(0, LONGEST_STRANGER));
    else rejected.add(own);
  }
  const echo = numberList(fields.mobile) ?? [];
  const named = new Set(echo.flatMap((entry) => match(entry) ?? []));
  const readable = echo.every((entry) => match(entry) !== null || withCountryCode(entry, countryCode) !== null);
  const speaks = echo.length > 0 && readable;
  return {
    rejected: ours.filter((number) => rejected.has(number)),
    unaccounted: speaks ? ours.filter((number) => !rejected.has(number) && !named.has(number)) : [],
    strangers,
    foreign: speaks && named.size === 0 && rejected.size < ours.length,
  };
}
