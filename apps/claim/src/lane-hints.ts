import { laneName } from '@sendledger/core';
import { type LaneHint, type LaneRef, type LaneStart, startOfLane } from '@sendledger/core/ledger';

/** After this long a lane is looked at from its start. */
const FRESH_MS = 2_000;

interface Held {
  readonly hint: LaneHint;
  /** When the claim that looked from the start began. */
  readonly since: number;
}

/**
 * What the last claims learned of their lanes. A hint never hides a fresh row: one-time passwords have none, a wake-up drops it, it
 * lags a few seconds, and it ends by itself.
 */
export class LaneHints {
  readonly #held = new Map<string, Held>();
  /** Counts wake-ups, so that a claim which was under way does not bring back what one dropped. */
  readonly #dropped = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A wake-up came for a lane. */
  drop(lane: string): void {
    this.#held.delete(lane);
    this.#dropped.set(lane, (this.#dropped.get(lane) ?? 0) + 1);
  }

  /** The hint for a claim that begins now, and how to keep what it learns. */
  begin(lane: LaneRef): { readonly hint: LaneHint | undefined; keep(learned: LaneHint | null): void } {
    const name = laneName(lane.routeId, lane.messageClass);
    const began = this.#now();
    const drops = this.#dropped.get(name) ?? 0;
    const held = this.#fresh(name);
    return {
      hint: held?.hint,
      keep: (learned) => {
        if (learned === null) this.#held.delete(name);
        else if (lane.messageClass !== 'otp' && (this.#dropped.get(name) ?? 0) === drops)
          this.#held.set(name, { hint: learned, since: held?.since ?? began });
      },
    };
  }

  /** Where the rows of each hinted lane of a class begin, by route. */
  starts(messageClass: string): Map<string, LaneStart> {
    const starts = new Map<string, LaneStart>();
    for (const name of [...this.#held.keys()]) {
      const [routeId = '', of] = name.split('.');
      const held = of === messageClass ? this.#fresh(name) : undefined;
      if (held !== undefined) starts.set(routeId, startOfLane(held.hint));
    }
    return starts;
  }

  #fresh(name: string): Held | undefined {
    const held = this.#held.get(name);
    if (held === undefined || this.#now() - held.since < FRESH_MS) return held;
    this.#held.delete(name);
    return undefined;
  }
}
