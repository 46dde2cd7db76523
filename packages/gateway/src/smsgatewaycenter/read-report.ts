import { cleanId } from '../normalise/clean-id.ts';
import { cleanText } from '../normalise/clean-text.ts';
import { cleanTime } from '../normalise/clean-time.ts';
import { readEnvelope } from '../normalise/envelope.ts';
import { type JsonObject, type JsonValue, parseJson } from '../normalise/parse-json.ts';
import { recordEvidence } from '../normalise/record-evidence.ts';
import { reportField } from '../normalise/report-fields.ts';
import { reportRows } from '../normalise/report-rows.ts';
import type { ProviderRecord, ReportAnswer } from '../report-answer.ts';
import type { TransportReply } from '../transport.ts';
import { SUCCESS_CODE } from './codes.ts';
import { withCountryCode } from './number-match.ts';
import { causeClassOf, recordStatusOf } from './vocabulary.ts';

const LONGEST_WORD = 200;

export interface ReportQuestion {
  readonly providerTxnId: string;
  readonly expectedRecipients: number;
  readonly zone: string;
  readonly countryCode: string;
}

/** Reads the answer to a report by transaction. The envelope's success says that the read worked, nothing more. */
export function readReport(received: TransportReply, question: ReportQuestion): ReportAnswer {
  if (received.status < 200 || received.status > 299) return unavailable(`HTTP ${received.status}`);
  const envelope = readEnvelope(parseJson(received.body.toString('utf8')));
  if (envelope === null) return unavailable("not a reply of the provider's own form");
  if (envelope.verdict !== 'success')
    return unavailable(`the read ended in ${envelope.verdict}${codeOf(envelope.code)}`);
  if (envelope.code !== null && envelope.code !== SUCCESS_CODE)
    return unavailable(`the read ended${codeOf(envelope.code)}`);
  const response = envelope.nested ?? envelope.flat;
  const list = reportRows(response);
  if (list === null) return unavailable('a success without a list');
  return recordsOf(list.rows, list.unreadable, response, question);
}

function recordsOf(
  rows: readonly JsonObject[],
  unreadableElements: number,
  response: JsonObject,
  question: ReportQuestion,
): ReportAnswer {
  const records: ProviderRecord[] = [];
  let unreadableRows = unreadableElements;
  let foreignRows = 0;
  for (const row of rows) {
    const record = providerRecord(row, question.zone, question.countryCode);
    if (record === null) unreadableRows += 1;
    else if (record.providerTxnId !== null && record.providerTxnId !== question.providerTxnId) foreignRows += 1;
    else records.push(record);
  }
  const recipients = new Set(records.flatMap((record) => record.recipient ?? []));
  return {
    kind: 'records',
    records,
    rowCount: rows.length + unreadableElements,
    declaredCount: countOf(response.count),
    unreadableRows,
    foreignRows,
    coversAll: unreadableRows === 0 && recipients.size > 0 && recipients.size >= question.expectedRecipients,
  };
}

/** One report row as a record; null if it names neither a recipient nor an id, so that it is evidence of nothing. */
function providerRecord(row: JsonObject, zone: string, countryCode: string): ProviderRecord | null {
  const providerTxnId = cleanId(reportField(row, 'transactionId'));
  const providerMessageId = cleanId(reportField(row, 'messageId'));
  const recipient = withCountryCode(reportField(row, 'mobile') ?? '', countryCode);
  if (providerMessageId === null && recipient === null) return null;
  const statusWord = cleanText(reportField(row, 'status'), LONGEST_WORD);
  const cause = cleanText(reportField(row, 'cause'), LONGEST_WORD);
  return {
    providerTxnId,
    providerMessageId,
    recipient,
    senderId: cleanText(reportField(row, 'sender'), LONGEST_WORD),
    statusWord,
    status: recordStatusOf(statusWord, cause),
    cause,
    causeClass: causeClassOf(cause),
    submittedAt: cleanTime(reportField(row, 'submitted'), zone),
    deliveredAt: cleanTime(reportField(row, 'delivered'), zone),
    evidence: recordEvidence(row),
  };
}

function countOf(value: JsonValue | undefined): number | null {
  return typeof value === 'string' && /^\d{1,9}$/.test(value.trim()) ? Number(value) : null;
}

function unavailable(detail: string): ReportAnswer {
  return { kind: 'unavailable', detail };
}

/** Codes are digits as far as they are known; other text is not repeated. */
function codeOf(code: string | null): string {
  return code !== null && /^\d{1,10}$/.test(code) ? ` with code ${code}` : '';
}
