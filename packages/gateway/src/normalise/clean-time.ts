import { DateTime } from 'luxon';
import { cleanEpoch } from './clean-epoch.ts';
import { isSentinel } from './clean-text.ts';

/** The provider writes local times without saying whose; the vendor is Indian, so this is the default. */
export const DEFAULT_ZONE = 'Asia/Kolkata';

/**
 * Forms that were seen. Nothing is guessed from a day/month order: a form that is not here is null, and the text stays
 * in the evidence.
 */
const FORMS = [
  'MMMM d, yyyy HH:mm:ss',
  'MMM d, yyyy HH:mm:ss',
  'yyyy-MM-dd HH:mm:ss',
  'yyyy-MM-dd HH:mm',
  "yyyy-MM-dd'T'HH:mm:ss",
  "yyyy-MM-dd'T'HH:mm:ss.SSS",
  "yyyy-MM-dd'T'HH:mm:ssZZ",
  "yyyy-MM-dd'T'HH:mm:ss.SSSZZ",
] as const;

/**
 * The instant of a provider's time, which may be an epoch in digits or a local time in one of the known forms, read in
 * `zone` (an IANA name) unless it carries an offset. Null for sentinels and for what cannot be read.
 */
export function cleanTime(value: unknown, zone: string = DEFAULT_ZONE): Date | null {
  if (typeof value !== 'string') return cleanEpoch(value);
  const text = value.trim().replace(/\s+/g, ' ');
  if (isSentinel(text)) return null;
  if (/^\d+$/.test(text)) return cleanEpoch(text);
  const local = text.replace(/Z$/, '+00:00');
  for (const form of FORMS) {
    const time = DateTime.fromFormat(local, form, { zone, locale: 'en-US' });
    if (time.isValid) return time.toJSDate();
  }
  return null;
}
