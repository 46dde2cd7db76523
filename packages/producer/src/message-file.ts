import { csvRecords, type Message, type MessageClass, numberedLines } from '@sendledger/core';
import { type LineFault, type LineProblem, lineProblem } from './line-problem.ts';
import { isFileField, messageOf } from './message-fields.ts';

export const MESSAGE_FORMATS = ['csv', 'ndjson'] as const;
export type MessageFormat = (typeof MESSAGE_FORMATS)[number];

/** What a line means that does not say so itself. */
export interface MessageDefaults {
  readonly tenant?: string | undefined;
  readonly class?: MessageClass | undefined;
  readonly eventType?: string | undefined;
  readonly sender?: string | undefined;
  readonly route?: string | undefined;
}

/** What stands on one line. The line is the one a record begins on, as an editor counts. */
export type MessageLine =
  | { readonly ok: true; readonly line: number; readonly message: Message }
  | { readonly ok: false; readonly line: number; readonly problems: readonly LineProblem[] };

/**
 * Reads messages from a file, line by line and without holding it: each line is a message or a list of what is wrong with
 * it, and a bad line never ends the reading. Fields are those of `FILE_FIELDS`; every other CSV column is a template variable
 * (an empty cell is none), in NDJSON they stand in `params`. What a number or a time is worth is judged at enqueue.
 *
 * Errors of the stream itself are thrown.
 */
export async function* readMessages(
  stream: AsyncIterable<Uint8Array | string>,
  format: MessageFormat,
  defaults: MessageDefaults = {},
): AsyncGenerator<MessageLine> {
  yield* format === 'csv' ? readCsv(stream, defaults) : readNdjson(stream, defaults);
}

async function* readNdjson(
  stream: AsyncIterable<Uint8Array | string>,
  defaults: MessageDefaults,
): AsyncGenerator<MessageLine> {
  for await (const { number, text, tooLong } of numberedLines(stream)) {
    if (tooLong) yield refused(number, 'line', 'line_too_long');
    else if (text.trim() === '') continue;
    else if (text.includes(DAMAGED)) yield refused(number, 'line', 'not_utf8');
    else yield readObject(number, text, defaults);
  }
}

/** What a decoder puts for octets that are not UTF-8. In a file that holds it as such, the damage was done before. */
const DAMAGED = '\uFFFD';

function readObject(line: number, text: string, defaults: MessageDefaults): MessageLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own words quote the line, and with it a body or a number.
    return refused(line, 'line', 'not_json');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refused(line, 'line', 'not_an_object');
  const { params, ...fields } = value as Record<string, unknown>;
  return messageOf(line, fields, params ?? undefined, defaults);
}

async function* readCsv(
  stream: AsyncIterable<Uint8Array | string>,
  defaults: MessageDefaults,
): AsyncGenerator<MessageLine> {
  let columns: readonly string[] | undefined;
  for await (const record of csvRecords(numberedLines(stream))) {
    if (!record.ok) {
      yield refused(record.line, 'line', record.reason);
      // Without the names no other line can be read.
      if (columns === undefined) return;
    } else if (columns === undefined) {
      const names = record.fields.map((name) => name.trim());
      const problems = headerProblems(names);
      if (problems.length > 0) {
        yield { ok: false, line: record.line, problems };
        return;
      }
      columns = names;
    } else {
      yield readRecord(record.line, columns, record.fields, defaults);
    }
  }
}

function headerProblems(names: readonly string[]): LineProblem[] {
  if (names.some((name) => name.includes(DAMAGED))) return [lineProblem('line', 'not_utf8')];
  const twice = new Set(names.filter((name, at) => name !== '' && names.indexOf(name) !== at));
  return [
    ...(names.includes('') ? [lineProblem('line', 'column_nameless')] : []),
    ...[...twice].map((name) => lineProblem(name, 'column_twice')),
  ];
}

/** In front of a column that is a variable although a field has its name, e.g. `params.class`. */
const VARIABLE_PREFIX = 'params.';

function readRecord(
  line: number,
  columns: readonly string[],
  values: readonly string[],
  defaults: MessageDefaults,
): MessageLine {
  if (values.length !== columns.length) return refused(line, 'line', 'column_count');
  if (values.some((value) => value.includes(DAMAGED))) return refused(line, 'line', 'not_utf8');
  const fields: Record<string, string> = {};
  const params: [string, string][] = [];
  for (const [at, column] of columns.entries()) {
    const value = values[at];
    if (value === undefined || value === '') continue;
    if (isFileField(column)) fields[column] = value;
    else params.push([column.startsWith(VARIABLE_PREFIX) ? column.slice(VARIABLE_PREFIX.length) : column, value]);
  }
  return messageOf(line, fields, params.length === 0 ? undefined : Object.fromEntries(params), defaults);
}

function refused(line: number, field: string, reason: LineFault): MessageLine {
  return { ok: false, line, problems: [lineProblem(field, reason)] };
}
