import { wakeSpread } from '@sendledger/core/ledger';
import type { AppContext, Round } from '@sendledger/worker';

/** What a window counts beyond its first refusal, and how far the database's clock may be ahead of ours. */
const MARGIN_MS = 60_000;
/** A window ends when nothing was refused for this long and the database answers. */
const QUIET_MS = 2_000;
/** In one that does not end, what is awaited is woken this often. */
const WAKE_AGAIN_MS = 60_000;

/**
 * The span of time in which pushes were refused, and so may be lost: some providers try again, some never do. When it is over,
 * every report that its accounts still await is due soon, so that polling finds what pushing lost: spread over a time that grows
 * with their number, or new unknowns would wait behind them all.
 *
 * A window stands open when the process starts: what was pushed while nobody listened is not known either. Every start therefore
 * wakes what is awaited once, and of several processes each does; a poll is free and wakes nothing twice at the same moment.
 */
export class PushOutage {
  readonly #context: AppContext;
  readonly #accounts: readonly string[];
  #cause: 'start' | 'refused' | null = 'start';
  #beganAt = performance.now();
  #refusedAt = Number.NEGATIVE_INFINITY;
  #wokenAt = performance.now();
  #refused = 0;
  #woken = 0;

  /** @param accounts `provider/account` whose pushes come here. */
  constructor(context: AppContext, accounts: readonly string[]) {
    this.#context = context;
    this.#accounts = accounts;
  }

  /** A push was not taken. @param reason a few words; `err` is what stood behind it, where something did. */
  refused(reason: string, err?: unknown): void {
    this.#refusedAt = performance.now();
    this.#refused++;
    if (this.#cause !== null && this.#refused > 1) return;
    if (this.#cause === null) {
      this.#cause = 'refused';
      this.#beganAt = this.#refusedAt;
      this.#wokenAt = this.#refusedAt;
    }
    this.#context.log.warn({ reason, ...(err === undefined ? {} : { err }) }, 'push_outage_began');
  }

  round = async (): Promise<Round> => {
    if (this.#cause === null) return 'none';
    const now = performance.now();
    const quiet = now - this.#refusedAt >= QUIET_MS;
    if (!quiet && now - this.#wokenAt < WAKE_AGAIN_MS) return 'none';
    const before = this.#refused;
    try {
      this.#woken += await this.#wake();
    } catch {
      // Still away; what it says is in the line of the loops that need it.
      return 'none';
    }
    this.#wokenAt = performance.now();
    if (quiet && this.#refused === before) this.#end();
    return 'none';
  };

  async #wake(): Promise<number> {
    const before = new Date(Date.now() + MARGIN_MS);
    return (await wakeSpread(this.#context.pool, this.#accounts, before)).woken;
  }

  #end(): void {
    const margin = this.#cause === 'start' ? 0 : MARGIN_MS;
    this.#context.log.info(
      {
        cause: this.#cause,
        length_ms: Math.round(performance.now() - this.#beganAt + margin),
        refused: this.#refused,
        woken: this.#woken,
      },
      'push_outage_over',
    );
    this.#cause = null;
    this.#refused = 0;
    this.#woken = 0;
  }
}
