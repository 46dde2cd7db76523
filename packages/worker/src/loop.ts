import type { Log } from './log.ts';

/**
 * What a round found. `more`: go on at once. `some`: look again soon. `none`: back off towards the poll interval.
 */
export type Round = 'more' | 'some' | 'none';

/** The first pause after a round that found something; it doubles with each round that finds nothing. */
const SHORTEST_PAUSE_MS = 15;

/**
 * A worker's own clock: runs `work` again and again, at once while there is more, on every nudge, and after a pause that
 * grows to the poll interval. One round at a time. A nudge that comes during a round starts another one after it.
 *
 * A wake-up is only a nudge: with none at all the loop still finds everything within one poll interval.
 */
export class Loop {
  readonly name: string;
  readonly #work: () => Promise<Round>;
  readonly #pollMs: number;
  readonly #log: Log;
  #nudged = false;
  #stopping = false;
  #wake: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #lastRoundAt = Date.now();

  constructor(name: string, pollMs: number, log: Log, work: () => Promise<Round>) {
    this.name = name;
    this.#work = work;
    this.#pollMs = pollMs;
    this.#log = log;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Work that takes long says that it moves: a slow round is not a stuck one. */
  touch(): void {
    this.#lastRoundAt = Date.now();
  }

  nudge(): void {
    this.#nudged = true;
    this.#wake?.();
  }

  /** Ends after the round that is running. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake?.();
    await this.#running;
  }

  /** Milliseconds since a round last ended, or said that it moves; a number far above the poll interval means that the loop is stuck. */
  get quietMs(): number {
    return Date.now() - this.#lastRoundAt;
  }

  async #run(): Promise<void> {
    let pauseMs = this.#pollMs;
    while (!this.#stopping) {
      this.#nudged = false;
      let round: Round = 'none';
      try {
        round = await this.#work();
      } catch (err) {
        this.#log.error({ err, loop: this.name }, 'round_failed');
      }
      this.#lastRoundAt = Date.now();
      if (round === 'more') pauseMs = 0;
      else if (round === 'some') pauseMs = SHORTEST_PAUSE_MS;
      else pauseMs = Math.min(Math.max(pauseMs * 2, SHORTEST_PAUSE_MS), this.#pollMs);
      if (pauseMs > 0 && !this.#nudged && !this.#stopping) await this.#pause(pauseMs);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
