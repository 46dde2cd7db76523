import { type Overview, readOverview, type Sql } from '@sendledger/core/ledger';

/** Whoever asks within this time is given what was read for the one before. */
const FRESH_MS = 1_000;

/** Reads the overview for pages and metrics: once for all who ask at the same time. */
export class OverviewReader {
  readonly #sql: Sql;
  #reading: Promise<Overview> | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  read(): Promise<Overview> {
    if (this.#reading !== undefined) return this.#reading;
    const reading = readOverview(this.#sql);
    this.#reading = reading;
    const forget = () => {
      if (this.#reading === reading) this.#reading = undefined;
    };
    reading.then(() => setTimeout(forget, FRESH_MS).unref(), forget);
    return reading;
  }
}
