import { createHash } from 'node:crypto';
import { cleanId } from '../normalise/clean-id.ts';
import { isSentinel } from '../normalise/clean-text.ts';
import type { JsonObject, JsonValue } from '../normalise/parse-json.ts';
import { readCount } from '../normalise/read-count.ts';
import { reportRows } from '../normalise/report-rows.ts';
import type { ProviderRecord } from '../report-answer.ts';
import type { TransportReply } from '../transport.ts';
import { type Unavailable, unavailable } from './call-provider.ts';
import { readSuccess } from './read-success.ts';
import { type Reading, reportRecord } from './report-record.ts';

export interface DaysPage {
  readonly kind: 'page';
  readonly records: readonly ProviderRecord[];
  /** Rows in the list, unreadable ones included. */
  readonly rowCount: number;
  readonly unreadableRows: number;
  /** Where the next page begins; null: the page says of none. */
  readonly nextCursor: string | null;
  /** Why this page cannot be part of a complete read, by its own words; null if nothing speaks against it. */
  readonly fault: string | null;
  /** The same for two pages that name the same messages in the same order; null for a page that names none. */
  readonly fingerprint: string | null;
}

/** Reads one page of the report by days. Pure. */
export function readDaysPage(received: TransportReply, reading: Reading): DaysPage | Unavailable {
  const read = readSuccess(received);
  if (read.kind === 'unavailable') return read;
  const { response } = read;
  const list = reportRows(response);
  if (list === null) return unavailable('a success without a list');
  const records: ProviderRecord[] = [];
  for (const row of list.rows) {
    const record = reportRecord(row, reading);
    if (record !== null) records.push(record);
  }
  const rowCount = list.rows.length + list.unreadable;
  const unreadableRows = rowCount - records.length;
  return {
    kind: 'page',
    records,
    rowCount,
    unreadableRows,
    nextCursor: cleanId(cursorOf(response)),
    fault: faultOf(response, rowCount, unreadableRows),
    fingerprint: fingerprintOf(records),
  };
}

/** The two names under which the next page may be announced; the paging of this report is not documented. */
const CURSOR_NAMES: readonly string[] = ['nextCursor', 'startCursor'];

/** The first name that is there counts, even where it says "none": the other may be an echo of what we asked for. */
function cursorOf(response: JsonObject): JsonValue | undefined {
  const name = CURSOR_NAMES.find((candidate) => Object.hasOwn(response, candidate));
  return name === undefined ? undefined : response[name];
}

function faultOf(response: JsonObject, rowCount: number, unreadableRows: number): string | null {
  if (unreadableRows > 0) return 'a row is not readable';
  if (saysMore(cursorOf(response)) && cleanId(cursorOf(response)) === null) return 'a cursor is not readable';
  if (Object.entries(response).some(([name, value]) => isUnmappedPaging(name) && saysMore(value)))
    return 'a page speaks of more in a field that nobody has mapped';
  const { count } = response;
  if (count !== undefined && count !== null && readCount(count) !== rowCount)
    return 'a page holds another number of rows than it declares';
  return null;
}

/** A short page whose cursor has a name we have not seen must not pass for the last one. */
function isUnmappedPaging(name: string): boolean {
  return !CURSOR_NAMES.includes(name) && /cursor|^next|^has_?more$/i.test(name);
}

function saysMore(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return false;
  return typeof value !== 'string' || !(isSentinel(value) || /^\s*false\s*$/i.test(value));
}

function fingerprintOf(records: readonly ProviderRecord[]): string | null {
  if (records.length === 0) return null;
  const names = records.map((record) => [record.providerTxnId, record.providerMessageId, record.recipient]);
  return createHash('sha256').update(JSON.stringify(names)).digest('base64');
}
