import type { RecordStatus } from '../report-answer.ts';

/** What a known word can mean. */
export const READINGS = ['open', 'delivered', 'failed'] as const;
type Reading = (typeof READINGS)[number];

/** Status words and causes that people have mapped since, on top of the known ones. Case and blanks do not matter. */
export type ExtraStatusWords = Readonly<Record<string, Reading>>;

/** The same by their plain spelling. */
export type StatusWords = ReadonlyMap<string, Reading>;

export function statusWordsOf(extra: ExtraStatusWords): StatusWords {
  return new Map(Object.entries(extra).map(([word, reading]) => [plain(word), reading]));
}

const NO_WORDS: StatusWords = new Map();

/** A push without a status word has an error code instead; `ErrorCode 27` is then its word. */
export const ERROR_CODE_WORD = 'ErrorCode';

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
  [`${ERROR_CODE_WORD} 0`.toUpperCase(), 'delivered'],
]);

export function plain(word: string): string {
  return word.trim().replace(/\s+/g, ' ').toUpperCase();
}

/**
 * Our class of a provider's cause: `none` without one, `unknown` for one that nobody has mapped, and for one that people
 * have mapped its own words in snake_case.
 */
export function causeClassOf(cause: string | null, extra: StatusWords = NO_WORDS): string {
  if (cause === null || plain(cause) === '') return 'none';
  const word = plain(cause);
  return CAUSES.get(word)?.[1] ?? (extra.has(word) ? snakeCase(word) : 'unknown');
}

function snakeCase(word: string): string {
  const snake = word
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 64)
    .replace(/^_+|_+$/g, '');
  return snake === '' ? 'mapped' : snake;
}

/**
 * What a record says about its message. The status word decides, by what people have mapped before what is known. A final
 * word whose own cause says otherwise (`Success` that is still `Pending`, `Failed` because `Delivered`) is `unmapped`,
 * like a word that nobody knows: the row stays as it is, since a final state is never taken back.
 */
export function recordStatusOf(
  statusWord: string | null,
  cause: string | null,
  extra: StatusWords = NO_WORDS,
): RecordStatus {
  if (statusWord === null) return 'unmapped';
  const word = plain(statusWord);
  const reading =
    extra.get(word) ??
    STATUS_WORDS.get(word) ??
    CAUSES.get(word)?.[0] ??
    (word.startsWith('UNDELIV') ? 'failed' : null);
  if (reading === null) return 'unmapped';
  const causeReading = cause === null ? undefined : (extra.get(plain(cause)) ?? CAUSES.get(plain(cause))?.[0]);
  if (reading === 'delivered' && causeReading !== undefined && causeReading !== 'delivered') return 'unmapped';
  if (reading === 'failed' && causeReading === 'delivered') return 'unmapped';
  return reading;
}
