import type { NumberedLine } from './numbered-lines.ts';

export type CsvFault = 'line_too_long' | 'quote_not_closed' | 'stray_quote';

/** One record, by the line it begins on. */
export type CsvRecord =
  | { readonly ok: true; readonly line: number; readonly fields: readonly string[] }
  | { readonly ok: false; readonly line: number; readonly reason: CsvFault };

/** A quote that is not closed within this many lines was not meant to span them. */
const MAX_RECORD_LINES = 200;
const LONGEST_RECORD_CHARACTERS = 65_536;

/**
 * Reads records by RFC 4180: comma, double quotes, `""` for a quote, line ends inside quotes kept as they are. Empty lines
 * are left out.
 *
 * A fault costs the line it is on and no other: reading goes on with the next line. That is why this is not csv-parse
 * (7.0.3): past a stray quote its `skip_records_with_error` swallowed the good records up to the next quote, and it counts
 * CRLF inside quotes as two lines.
 *
 * @param longest characters of a record that spans lines.
 */
export async function* csvRecords(
  lines: AsyncIterable<NumberedLine>,
  longest: number = LONGEST_RECORD_CHARACTERS,
): AsyncGenerator<CsvRecord> {
  const source = lines[Symbol.asyncIterator]();
  /** Lines that were read ahead for a record that turned out to be none. */
  const ahead: NumberedLine[] = [];
  const next = async (): Promise<NumberedLine | undefined> => {
    const known = ahead.shift();
    if (known !== undefined) return known;
    const { value, done } = await source.next();
    return done === true ? undefined : value;
  };

  for (let first = await next(); first !== undefined; first = await next()) {
    if (first.tooLong) {
      yield { ok: false, line: first.number, reason: 'line_too_long' };
      continue;
    }
    if (first.text.trim() === '') continue;
    const taken: NumberedLine[] = [];
    const reader = new RecordReader();
    let verdict = reader.read(first.text);
    let last = first;
    let characters = first.text.length;
    while (verdict === 'open' && taken.length < MAX_RECORD_LINES && characters <= longest) {
      const more = await next();
      if (more === undefined) break;
      taken.push(more);
      if (more.tooLong) break;
      characters += more.text.length;
      reader.append(last.end);
      verdict = reader.read(more.text);
      last = more;
    }
    if (verdict === 'whole') {
      yield { ok: true, line: first.number, fields: reader.fields };
      continue;
    }
    yield { ok: false, line: first.number, reason: verdict === 'open' ? 'quote_not_closed' : 'stray_quote' };
    ahead.unshift(...taken);
  }
}

/** Takes a record line by line. */
class RecordReader {
  readonly fields: string[] = [];
  /** The quoted field that is open over the end of a line. */
  #open: string | undefined;

  append(text: string): void {
    this.#open = (this.#open ?? '') + text;
  }

  read(text: string): 'whole' | 'open' | 'stray' {
    let at = 0;
    for (;;) {
      if (this.#open === undefined && text[at] === '"') {
        this.#open = '';
        at += 1;
      }
      if (this.#open === undefined) {
        const comma = text.indexOf(',', at);
        const field = text.slice(at, comma === -1 ? undefined : comma);
        if (field.includes('"')) return 'stray';
        this.fields.push(field);
        if (comma === -1) return 'whole';
        at = comma + 1;
        continue;
      }
      const quote = text.indexOf('"', at);
      if (quote === -1) {
        this.#open += text.slice(at);
        return 'open';
      }
      this.#open += text.slice(at, quote);
      if (text[quote + 1] === '"') {
        this.#open += '"';
        at = quote + 2;
        continue;
      }
      this.fields.push(this.#open);
      this.#open = undefined;
      if (quote + 1 === text.length) return 'whole';
      if (text[quote + 1] !== ',') return 'stray';
      at = quote + 2;
    }
  }
}
