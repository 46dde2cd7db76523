import { isSentinel } from '../normalise/clean-text.ts';
import { asList, type JsonValue } from '../normalise/parse-json.ts';

/** Length of an Indian number without country code and trunk zero. */
const NATIONAL_LENGTH = 10;

/**
 * The digits of a number with country code. The provider takes, and may give back, Indian numbers with 10, 11 (leading
 * zero) or 12 digits. Null where no number of 10 to 15 digits can be read.
 */
export function withCountryCode(input: string, countryCode: string): string | null {
  if (!/^[\s\d+().-]+$/.test(input)) return null;
  const digits = input.replace(/\D/g, '').replace(/^0+/, '');
  const number = digits.length === NATIONAL_LENGTH ? countryCode + digits : digits;
  return number.length >= NATIONAL_LENGTH && number.length <= 15 ? number : null;
}

/** Finds which of our numbers an entry of a reply means; null if none. Ours are returned as we spelt them. */
export function numberMatcher(ours: readonly string[], countryCode: string): (entry: string) => string | null {
  const exact = new Set(ours);
  return (entry) => {
    // As sent first: a foreign number of ten digits is not an Indian one without its country code.
    const digits = entry.replace(/\D/g, '');
    if (exact.has(digits)) return digits;
    const normalised = withCountryCode(entry, countryCode);
    return normalised !== null && exact.has(normalised) ? normalised : null;
  };
}

/**
 * The entries of a list of numbers, which comes as text with commas; sentinels are no entries. Null: neither text nor a
 * list of texts, so nobody can say what is in it.
 */
export function numberList(value: JsonValue | undefined): readonly string[] | null {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return entriesOf(value);
  const elements = asList(value);
  if (elements === null) return null;
  const entries: string[] = [];
  for (const element of elements) {
    if (typeof element !== 'string') return null;
    entries.push(...entriesOf(element));
  }
  return entries;
}

function entriesOf(text: string): readonly string[] {
  return text
    .split(/[,;|\n]/)
    .flatMap((part) => {
      // Blanks stand inside one number, or between whole ones.
      const pieces = part.trim().split(/\s+/);
      return pieces.every((piece) => piece.replace(/\D/g, '').length >= NATIONAL_LENGTH) ? pieces : [part.trim()];
    })
    .filter((entry) => !isSentinel(entry));
}
