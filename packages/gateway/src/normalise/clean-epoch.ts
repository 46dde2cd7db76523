import { isSentinel } from './clean-text.ts';

/**
 * The instant of an epoch written in digits: 13 are milliseconds, 10 are seconds. Sentinels (`0` means never) and
 * everything else are null.
 */
export function cleanEpoch(value: unknown): Date | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value).trim();
  if (isSentinel(text)) return null;
  if (/^\d{13}$/.test(text)) return new Date(Number(text));
  if (/^\d{10}$/.test(text)) return new Date(Number(text) * 1000);
  return null;
}
