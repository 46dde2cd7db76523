import type { RecordStatus } from '../report-answer.ts';

type Reading = 'open' | 'delivered' | 'failed';

/** The vendor's published reasons, each with our class. Compared in upper case. */
const CAUSES: ReadonlyMap<string, readonly [Reading, string]> = new Map([
  ['SUBMITTED', ['open', 'submitted']],
  ['PENDING', ['open', 'pending']],
  ['DELIVERED', ['delivered', 'delivered']],
  ['SUCCESS', ['delivered', 'delivered']],
  ['DND', ['failed', 'dnd']],
  ['INBOX FULL', ['failed', 'inbox_full']],
  ['NETWORK ERROR', ['failed', 'network_error']],
  ['OUT OF COVERAGE AREA', ['failed', 'out_of_coverage']],
  // Refused by the scrubbing of registered templates, after the submission and billed.
  ['TEMPLATE MISMATCH', ['failed', 'template_mismatch']],
  ['UNKNOWN NUMBER', ['failed', 'unknown_number']],
  ['UNKNOWN USER', ['failed', 'unknown_number']],
  ['ABSENT SUBSCRIBER', ['failed', 'absent_subscriber']],
  ['USER HAS BLACKLISTED SENDER ID', ['failed', 'sender_blacklisted']],
]);

/** Status words that live reports use beside the published ones. */
const STATUS_WORDS: ReadonlyMap<string, Reading> = new Map([
  ['DELIVERED', 'delivered'],
  ['DELIVRD', 'delivered'],
  ['SUCCESS', 'delivered'],
  ['SUBMITTED', 'open'],
  ['SENT', 'open'],
  ['ACCEPTED', 'open'],
  ['PENDING', 'open'],
  ['PROCESSING', 'open'],
  ['QUEUED', 'open'],
  ['FAILED', 'failed'],
  ['EXPIRED', 'failed'],
  ['REJECTED', 'failed'],
  ['REJECTD', 'failed'],
  ['BLACKLISTED', 'failed'],
]);

function plain(word: string): string {
  return word.trim().replace(/\s+/g, ' ').toUpperCase();
}

/** Our class of a provider's cause: `none` without one, `unknown` for one that nobody has mapped. */
export function causeClassOf(cause: string | null): string {
  if (cause === null || plain(cause) === '') return 'none';
  return CAUSES.get(plain(cause))?.[1] ?? 'unknown';
}

/**
 * What a record says about its message. The status word decides. A final word whose own cause says otherwise
 * (`Success` that is still `Pending`, `Failed` because `Delivered`) is `unmapped`, like a word that nobody knows: the
 * row stays as it is, since a final state is never taken back.
 */
export function recordStatusOf(statusWord: string | null, cause: string | null): RecordStatus {
  if (statusWord === null) return 'unmapped';
  const word = plain(statusWord);
  const reading = STATUS_WORDS.get(word) ?? CAUSES.get(word)?.[0] ?? (word.startsWith('UNDELIV') ? 'failed' : null);
  if (reading === null) return 'unmapped';
  const causeReading = cause === null ? undefined : CAUSES.get(plain(cause))?.[0];
  if (reading === 'delivered' && causeReading !== undefined && causeReading !== 'delivered') return 'unmapped';
  if (reading === 'failed' && causeReading === 'delivered') return 'unmapped';
  return reading;
}
