import type { ScheduleState } from '../schedules-answer.ts';
import { plain } from './vocabulary.ts';

/** What a mapped word can mean. */
export const SCHEDULE_READINGS = ['waiting', 'cancelled', 'sent'] as const satisfies readonly ScheduleState[];
type Reading = (typeof SCHEDULE_READINGS)[number];

/** Status words of schedules that people have mapped, over the guessed ones. Case and blanks do not matter. */
export type ExtraScheduleWords = Readonly<Record<string, Reading>>;

/** The same by their plain spelling. */
export type ScheduleWords = ReadonlyMap<string, Reading>;

export function scheduleWordsOf(extra: ExtraScheduleWords): ScheduleWords {
  return new Map(Object.entries(extra).map(([word, reading]) => [plain(word), reading]));
}

const NO_WORDS: ScheduleWords = new Map();

/**
 * Guesses, all of them: the vendor documents that a schedule has a `status`, and not one of its words. The first three
 * are those of our own simulator; the others are what a programmer may well have written. Compared in upper case.
 */
const GUESSED_WORDS: ReadonlyMap<string, Reading> = new Map([
  ['SCHEDULED', 'waiting'],
  ['DELETED', 'cancelled'],
  ['SENT', 'sent'],
  ['PENDING', 'waiting'],
  ['CANCELLED', 'cancelled'],
  ['CANCELED', 'cancelled'],
  ['DISPATCHED', 'sent'],
  ['COMPLETED', 'sent'],
]);

/**
 * What the status word of a schedule means, by what people have mapped before what is guessed; `unknown` for every other
 * word and for none. What the provider does by it is not documented either, so a report outweighs it.
 */
export function scheduleStateOf(statusWord: string | null, extra: ScheduleWords = NO_WORDS): ScheduleState {
  if (statusWord === null) return 'unknown';
  const word = plain(statusWord);
  return extra.get(word) ?? GUESSED_WORDS.get(word) ?? 'unknown';
}
