import { cleanId } from '../normalise/clean-id.ts';
import { cleanText } from '../normalise/clean-text.ts';
import { cleanTime } from '../normalise/clean-time.ts';
import type { JsonObject } from '../normalise/parse-json.ts';
import { recordEvidence } from '../normalise/record-evidence.ts';
import { reportField } from '../normalise/report-fields.ts';
import type { ProviderRecord } from '../report-answer.ts';
import { withCountryCode } from './number-match.ts';
import { causeClassOf, recordStatusOf, type StatusWords } from './vocabulary.ts';

/** Longest status word, cause or sender that is kept, in characters. */
export const LONGEST_WORD = 200;

/** By what a record's words, times and numbers are read. */
export interface Reading {
  /** IANA zone of local times. */
  readonly zone: string;
  /** Country code of a number without one. */
  readonly countryCode: string;
  readonly extraStatusWords: StatusWords;
}

export function readingOf({ countryCode, extraStatusWords }: Omit<Reading, 'zone'>, zone: string): Reading {
  return { zone, countryCode, extraStatusWords };
}

/** One report row as a record; null if it names neither a recipient nor an id, so that it is evidence of nothing. */
export function reportRecord(row: JsonObject, reading: Reading): ProviderRecord | null {
  const providerTxnId = cleanId(reportField(row, 'transactionId'));
  const providerMessageId = cleanId(reportField(row, 'messageId'));
  const recipient = withCountryCode(reportField(row, 'mobile') ?? '', reading.countryCode);
  if (providerMessageId === null && recipient === null) return null;
  const statusWord = cleanText(reportField(row, 'status'), LONGEST_WORD);
  const cause = cleanText(reportField(row, 'cause'), LONGEST_WORD);
  return {
    providerTxnId,
    providerMessageId,
    recipient,
    senderId: cleanText(reportField(row, 'sender'), LONGEST_WORD),
    statusWord,
    status: recordStatusOf(statusWord, cause, reading.extraStatusWords),
    cause,
    causeClass: causeClassOf(cause, reading.extraStatusWords),
    submittedAt: cleanTime(reportField(row, 'submitted'), reading.zone),
    deliveredAt: cleanTime(reportField(row, 'delivered'), reading.zone),
    evidence: recordEvidence(row),
  };
}
