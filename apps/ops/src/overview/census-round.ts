import {
  type CensusFigures,
  holdCensus,
  leaveCensus,
  ReceiptWatch,
  type Sql,
  takeCensus,
  writeCensus,
} from '@sendledger/core/ledger';
import type { AppContext, Round } from '@sendledger/worker';

/** A count may take this long; what takes longer is given up, and the figures grow old, which the page says. */
const LONGEST_COUNT_MS = 120_000;
/** After a count the database rests this many times as long as it took. */
const REST = 10;
/** How long the holder may be silent before another process counts, beyond the longest count. */
const SILENCE_MS = 30_000;

export interface CensusOptions {
  /** Hours back for which messages that have ended are counted. */
  readonly spanHours: number;
  /** Shortest pause between two counts, ms. */
  readonly intervalMs: number;
}

/** Counts the ledger for the whole fleet while this process holds the census; the others look whether it has become free. */
export class CensusTaker {
  readonly #context: Pick<AppContext, 'pool' | 'worker' | 'log'>;
  readonly #options: CensusOptions;
  readonly #receipts = new ReceiptWatch();
  #holds = false;
  #nextAt = 0;

  constructor(context: Pick<AppContext, 'pool' | 'worker' | 'log'>, options: CensusOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Whether this process is the one that counts, and so the one that exports what was counted. */
  get holds(): boolean {
    return this.#holds;
  }

  readonly round = async (): Promise<Round> => {
    const { pool, worker, log } = this.#context;
    const held = await holdCensus(pool, worker.id, this.#silenceMs());
    if (held !== this.#holds) log.info({ holds: held }, 'census_holder');
    this.#holds = held;
    if (!held || performance.now() < this.#nextAt) return 'none';
    const startedAt = performance.now();
    const { spanHours } = this.#options;
    let figures: CensusFigures;
    try {
      figures = await this.#count((sql) => takeCensus(sql, spanHours, this.#receipts));
    } finally {
      // What failed after a long time has cost as much as what succeeded.
      this.#nextAt = performance.now() + Math.max(this.#options.intervalMs, REST * (performance.now() - startedAt));
    }
    const tookMs = performance.now() - startedAt;
    this.#holds = await writeCensus(pool, worker.id, { tookMs, spanHours, ...figures });
    return 'none';
  };

  /** Lets another process count at once. */
  async leave(): Promise<void> {
    this.#holds = false;
    await leaveCensus(this.#context.pool, this.#context.worker.id);
  }

  /** A count is not cut off by the short time that the statements of pages have. */
  async #count<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#context.pool.connect();
    let failed: Error | undefined;
    try {
      await client.query(`begin read only; set local statement_timeout = ${LONGEST_COUNT_MS}`);
      const sql: Sql = {
        query: (text, values = []) => {
          const query = { text, values, query_timeout: LONGEST_COUNT_MS + 5_000 };
          return client.query(query);
        },
      };
      const result = await work(sql);
      await client.query('commit');
      return result;
    } catch (error) {
      failed = error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      // After a failure the connection is closed, its transaction with it.
      client.release(failed);
    }
  }

  #silenceMs(): number {
    return LONGEST_COUNT_MS * 3 + SILENCE_MS + this.#options.intervalMs;
  }
}
