import { csvRecords, numberedLines } from '@sendledger/core';
import { type BadRow, DAY_ROWS_AT_ONCE, type DayRows } from '../day-report.ts';
import { type DayColumns, dayColumns } from '../normalise/day-columns.ts';
import { recordEvidence } from '../normalise/record-evidence.ts';
import type { ProviderRecord } from '../report-answer.ts';
import type { CheckedArchive } from '../zip/archive.ts';
import { type Reading, reportRecord } from './report-record.ts';

export interface DayRowsRead {
  rows: number;
  records: number;
  badRows: number;
  /** Files whose header we know. */
  readable: number;
  readonly unmappedColumns: Set<string>;
}

/** Hands over the rows of all files of an archive, some at a time. A bad row costs itself and no other. */
export async function readDayRows(
  archive: CheckedArchive,
  reading: Reading,
  maxRowCharacters: number,
  onRows: (rows: DayRows) => Promise<void>,
): Promise<DayRowsRead> {
  const read: DayRowsRead = { rows: 0, records: 0, badRows: 0, readable: 0, unmappedColumns: new Set() };
  let records: ProviderRecord[] = [];
  let bad: BadRow[] = [];
  const flush = async (): Promise<void> => {
    if (records.length + bad.length === 0) return;
    const rows = { records, bad };
    [records, bad] = [[], []];
    await onRows(rows);
  };
  for (const [place, open] of archive.files.entries()) {
    let columns: DayColumns | null = null;
    for await (const line of csvRecords(numberedLines(await open(), maxRowCharacters), maxRowCharacters)) {
      if (columns === null) {
        columns = line.ok ? dayColumns(line.fields) : null;
        if (columns === null) {
          // Nobody can say what its columns are, so that nothing of it may be kept.
          bad.push({ file: place + 1, line: line.line, reason: 'no_header', evidence: {} });
          read.badRows += 1;
          read.rows += 1;
          break;
        }
        read.readable += 1;
        for (const name of columns.unmapped) read.unmappedColumns.add(name);
        continue;
      }
      read.rows += 1;
      const judged = line.ok
        ? rowOf(line.fields, columns, reading)
        : { reason: line.reason === 'line_too_long' ? ('row_too_long' as const) : line.reason, evidence: {} };
      if ('reason' in judged) {
        bad.push({ file: place + 1, line: line.line, ...judged });
        read.badRows += 1;
      } else {
        records.push(judged);
        read.records += 1;
      }
      if (records.length + bad.length >= DAY_ROWS_AT_ONCE) await flush();
    }
  }
  // Of an archive that holds no file of ours nothing is handed over: it is not what was asked for.
  if (read.readable > 0) await flush();
  return read;
}

function rowOf(
  fields: readonly string[],
  { names }: DayColumns,
  reading: Reading,
): ProviderRecord | Pick<BadRow, 'reason' | 'evidence'> {
  // Not one blank field more: a comma in a text that is not quoted moves all that follows it by one, a part of the text included, and
  // where the last field is blank there is nothing else to tell it by.
  if (fields.length !== names.length) return { reason: 'wrong_columns', evidence: {} };
  const row: Record<string, string> = {};
  for (const [place, name] of names.entries()) if (name !== null) row[name] = fields[place] ?? '';
  return reportRecord(row, reading) ?? { reason: 'names_nobody', evidence: recordEvidence(row) };
}
