import type { JsonValue } from './parse-json.ts';

/** A count of things, up to nine digits, quoted or not; null for everything else. */
export function readCount(value: JsonValue | undefined): number | null {
  return typeof value === 'string' && /^\d{1,9}$/.test(value.trim()) ? Number(value) : null;
}
