import { asList, asObject, type JsonObject, type JsonValue } from './parse-json.ts';

/** Both spellings of the list are in use; `reports_dlrList` belongs to the report by date. */
const LIST_NAMES = ['report_statusList', 'reports_statusList', 'reports_dlrList'] as const;

export interface ReportRows {
  readonly rows: readonly JsonObject[];
  /** Elements that are no record. */
  readonly unreadable: number;
}

/**
 * The rows of a report, whatever its shape: an array of `{status: {…}}`, an array of flat rows, or an object around
 * `DLRReport: […]`. Null: there is no list at all, which is not the same as an empty one.
 */
export function reportRows(response: JsonObject): ReportRows | null {
  for (const name of LIST_NAMES) {
    const list = response[name];
    if (list !== undefined && list !== null) return readList(list);
  }
  return null;
}

function readList(list: JsonValue): ReportRows {
  const elements = elementsOf(list);
  const rows = elements.map(unwrap).filter((row) => row !== null);
  return { rows, unreadable: elements.length - rows.length };
}

function elementsOf(list: JsonValue): readonly JsonValue[] {
  const array = asList(list);
  if (array !== null) return array;
  const object = asObject(list);
  // An empty string is how some servers write an empty list.
  if (object === null) return list === '' ? [] : [list];
  return asList(object.DLRReport) ?? [object];
}

/** `{status: {…}}` holds the row; in a flat row `status` is a word. */
function unwrap(element: JsonValue): JsonObject | null {
  const object = asObject(element);
  if (object === null) return null;
  return asObject(object.status) ?? object;
}
