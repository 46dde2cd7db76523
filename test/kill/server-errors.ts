import { open } from 'node:fs/promises';

/** `log_line_prefix` by which the server's log says the SQLSTATE of each line. */
export const ERROR_PREFIX = '%e ';

/**
 * Connections that were cut and a server that goes down or comes up (08, 57P), a transaction whose process stood still for too long
 * (25P03), and one that gave up waiting for what such a process had locked (55P03): what a cell does by itself.
 */
const EXPECTED = /^(08|57P|25P03|55P03)/;

const ADDED = new Set(['DETAIL', 'HINT', 'CONTEXT', 'STATEMENT']);

/**
 * Reads by how much a server's log has grown, and answers the errors in it that no cell brings about. Guards and constraints stop
 * what the statements should never have asked: one of their words is a fault of the cell, however well its books look.
 */
export class ServerErrors {
  readonly #logFile: string;
  #read = 0;

  constructor(logFile: string) {
    this.#logFile = logFile;
  }

  async takeNew(): Promise<string[]> {
    const file = await open(this.#logFile, 'r');
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(Math.max(0, size - this.#read));
      await file.read(bytes, 0, bytes.length, this.#read);
      // The last line may be half written.
      const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
      this.#read += whole.length;
      return errorsIn(whole.toString('utf8'));
    } finally {
      await file.close();
    }
  }
}

/** Each unexpected error with what the server says of it, on one line; statements are logged without their values. */
export function errorsIn(text: string): string[] {
  const errors: string[] = [];
  let open = false;
  for (const line of text.split('\n')) {
    const [, code, level, said] = /^([0-9A-Z]{5}) ([A-Z]+): {2}(.*)$/.exec(line) ?? [];
    if (level === 'ERROR' || level === 'PANIC') {
      open = code !== undefined && !EXPECTED.test(code);
      if (open) errors.push(`${code} ${said}`);
    } else if (open && (level === undefined || ADDED.has(level))) {
      errors.push(`${errors.pop()} ${(said ?? line).trim()}`.trimEnd());
    } else open = false;
  }
  // What differs from one time to the next is no part of what is said.
  return errors.map((error) => error.replaceAll(/\b(process|transaction|relation|database|tuple) [(\d,)]+/gi, '$1 …'));
}
