const SENTINELS: ReadonlySet<string> = new Set(['', '0', 'null', '-']);

/** Values by which providers say "there is none": empty, `0`, `null` in any case, `-`. */
export function isSentinel(text: string): boolean {
  return SENTINELS.has(text.trim().toLowerCase());
}

/**
 * Text as it may be stored: trimmed, at most `limit` characters, without NUL and without half surrogate pairs, which
 * Postgres refuses. Null for anything but text and for the empty string; sentinels are kept, they may be an answer.
 */
export function cleanText(value: unknown, limit: number): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replaceAll('\u0000', '\uFFFD').trim().slice(0, limit).toWellFormed();
  return text === '' ? null : text;
}
