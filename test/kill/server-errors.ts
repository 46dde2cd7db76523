import { open } from 'node:fs/promises';

/** `log_line_prefix` by which the server's log says the SQLSTATE of each line. */
export const ERROR_PREFIX = '%e ';

/**
 * Connections that were cut and a server that goes down or comes up (08, 57P), a transaction whose process stood still for too long
 * (25P03), and one that gave up waiting for what such a process had locked (55P03): what a cell does by itself.
 */
const EXPECTED = /^(08|57P|25P03|55P03)/;

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
      return whole.toString('utf8').split('\n').flatMap(errorIn);
    } finally {
      await file.close();
    }
  }
}

function errorIn(line: string): string[] {
  const [, code, message] = /^([0-9A-Z]{5}) (?:ERROR|PANIC): {2}(.*)$/.exec(line) ?? [];
  return code === undefined || EXPECTED.test(code) ? [] : [`${code} ${message}`];
}
