/** A token bucket: so many tokens a second, and so many at once at most. */
export interface BucketShape {
  /** Tokens a second, fractions allowed; 0: nothing passes. */
  readonly rate: number;
  /** Tokens that a full bucket holds. */
  readonly burst: number;
}

export interface Taken {
  readonly granted: number;
  /** When the next token may be asked for, ms from now; infinite where none will come. */
  readonly waitMs: number;
}

/**
 * Whole buckets that may be owed. One, but for a process that takes from a share of it, whose bucket is smaller; more is the work of a
 * clock that was set back, and the route would stand still until it is there again.
 */
const MOST_BUCKETS = 32;

/** A share below one token would never grant any; below this, what is left of a sum is rounding. */
const ROUNDING = 1e-9;

/**
 * A bucket as one instant (GCRA): `tat`, the time at which everything granted so far is paid for. A bucket is full where that is
 * past, and empty where it is `burst / rate` ahead. In microseconds, by whatever clock the caller keeps to.
 *
 * In any span of time it grants at most `rate × span + burst`.
 *
 * @param keep tokens that are left in the bucket for somebody more urgent
 * @param least tokens of one request, which cannot be cut: where the bucket is full and has fewer, they are lent, and owed
 */
export function takeTokens(
  tat: number,
  nowUs: number,
  shape: BucketShape,
  wanted: number,
  keep: number,
  least = 1,
): Taken & { readonly tat: number } {
  if (shape.rate <= 0) return { granted: 0, waitMs: Number.POSITIVE_INFINITY, tat };
  const interval = 1e6 / shape.rate;
  const tolerance = (shape.burst - keep) * interval;
  const from = Math.min(Math.max(tat, nowUs), nowUs + MOST_BUCKETS * Math.max(shape.burst, least) * interval);
  const room = Math.floor((tolerance - (from - nowUs)) / interval + ROUNDING);
  const lent = room < least && tat <= nowUs ? least : 0;
  const granted = Math.max(0, Math.min(wanted, Math.max(room, lent)));
  const after = granted > 0 ? from + granted * interval : Math.min(tat, from);
  // Until the next token is there; of a request that cannot be cut, until the bucket has it, or is full.
  const needed = Math.min(least * interval, tolerance);
  const waitUs =
    granted < wanted ? Math.max(0, Math.max(after, nowUs) + Math.max(interval, needed) - tolerance - nowUs) : 0;
  return { granted, waitMs: Math.ceil(waitUs / 1_000), tat: after };
}

/** A bucket of this process, by its monotonic clock. It begins empty: what is remembered nowhere may just have been spent. */
export class LocalBucket {
  readonly #nowUs: () => number;
  #tat: number | null = null;
  #interval = 0;

  constructor(nowUs: () => number = () => performance.now() * 1_000) {
    this.#nowUs = nowUs;
  }

  take(shape: BucketShape, wanted: number, keep: number, least = 1): Taken {
    const now = this.#nowUs();
    if (shape.rate <= 0) return { granted: 0, waitMs: Number.POSITIVE_INFINITY };
    const interval = 1e6 / shape.rate;
    if (this.#tat === null) this.#tat = now + shape.burst * interval;
    // What is owed is owed in tokens: at another rate it takes another time to pay.
    else if (this.#interval > 0 && interval !== this.#interval && this.#tat > now)
      this.#tat = now + ((this.#tat - now) / this.#interval) * interval;
    this.#interval = interval;
    const { tat, ...taken } = takeTokens(this.#tat, now, shape, wanted, keep, least);
    this.#tat = tat;
    return taken;
  }

  /** At what a token is worth now: taken at another rate, it would come back as more than one. */
  giveBack(unused: number): void {
    if (this.#tat !== null) this.#tat -= unused * this.#interval;
  }
}
