/** A line of a text, counted from 1. */
export interface NumberedLine {
  readonly number: number;
  /** Without its end; cut where the line is too long. */
  readonly text: string;
  /** `\n`, `\r\n`, or nothing at the end of the text. */
  readonly end: string;
  readonly tooLong: boolean;
}

/** A longer line is no message. It is read past, and never held as a whole. */
const LONGEST_LINE_CHARACTERS = 262_144;

/**
 * Cuts a stream of octets into lines, at LF only: `node:readline` also cuts at U+2028, which JSON strings may hold. A byte
 * order mark is dropped. Octets that are not UTF-8 become U+FFFD, for the reader of the line to refuse.
 *
 * @param longest characters of a line; of a longer one only its number is told.
 */
export async function* numberedLines(
  stream: AsyncIterable<Uint8Array | string>,
  longest: number = LONGEST_LINE_CHARACTERS,
): AsyncGenerator<NumberedLine> {
  let number = 0;
  let rest = '';
  let tooLong = false;
  const lineOf = (text: string, end: '\n' | ''): NumberedLine => {
    number += 1;
    const crlf = end === '\n' && text.endsWith('\r');
    const long = tooLong || text.length > longest;
    tooLong = false;
    return {
      number,
      text: long ? '' : text.slice(0, crlf ? -1 : undefined),
      end: crlf ? '\r\n' : end,
      tooLong: long,
    };
  };
  for await (const chunk of decoded(stream)) {
    let from = 0;
    for (let at = chunk.indexOf('\n'); at !== -1; at = chunk.indexOf('\n', from)) {
      yield lineOf(rest + chunk.slice(from, at), '\n');
      rest = '';
      from = at + 1;
    }
    rest += chunk.slice(from);
    if (rest.length > longest) {
      tooLong = true;
      rest = '';
    }
  }
  if (rest !== '' || tooLong) yield lineOf(rest, '');
}

async function* decoded(stream: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8');
  let first = true;
  for await (const chunk of stream) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    if (text === '') continue;
    // The decoder drops the mark of octets; a stream that was decoded before still has it.
    yield first && text.startsWith('\uFEFF') ? text.slice(1) : text;
    first = false;
  }
  yield decoder.decode();
}
