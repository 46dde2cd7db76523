import type { JsonObject } from '../normalise/parse-json.ts';
import { readCount } from '../normalise/read-count.ts';
import { reportRows } from '../normalise/report-rows.ts';
import type { ProviderRecord, ReportAnswer } from '../report-answer.ts';
import type { TransportReply } from '../transport.ts';
import { unavailable } from './call-provider.ts';
import { readSuccess } from './read-success.ts';
import { type Reading, reportRecord } from './report-record.ts';

export interface ReportQuestion extends Reading {
  readonly providerTxnId: string;
  readonly expectedRecipients: number;
}

/** Reads the answer to a report by transaction. */
export function readReport(received: TransportReply, question: ReportQuestion): ReportAnswer {
  const read = readSuccess(received);
  if (read.kind === 'unavailable') return read;
  const list = reportRows(read.response);
  if (list === null) return unavailable('a success without a list');
  return recordsOf(list.rows, list.unreadable, read.response, question);
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
    const record = reportRecord(row, question);
    if (record === null) unreadableRows += 1;
    else if (record.providerTxnId !== null && record.providerTxnId !== question.providerTxnId) foreignRows += 1;
    else records.push(record);
  }
  const recipients = new Set(records.flatMap((record) => record.recipient ?? []));
  return {
    kind: 'records',
    records,
    rowCount: rows.length + unreadableElements,
    declaredCount: readCount(response.count),
    unreadableRows,
    foreignRows,
    coversAll: unreadableRows === 0 && recipients.size > 0 && recipients.size >= question.expectedRecipients,
  };
}
