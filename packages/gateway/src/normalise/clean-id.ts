import { isSentinel } from './clean-text.ts';

const LONGEST_ID = 255;

/**
 * An id that somebody else issued, as text. Sentinels become null; anything else is kept digit for digit, leading zeros
 * included, without the blanks around it. Null too for what cannot be an id: objects, control characters, more than 255
 * characters, and a number that JavaScript has already rounded.
 */
export function cleanId(value: unknown): string | null {
  const text = idText(value)?.trim();
  if (text === undefined || isSentinel(text) || text.length > LONGEST_ID) return null;
  // Control characters and half surrogates cannot be stored, or compared with what was sent.
  return /\p{Cc}/u.test(text) || !text.isWellFormed() ? null : text;
}

function idText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return undefined;
}
