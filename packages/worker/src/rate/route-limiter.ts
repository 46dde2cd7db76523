import type { Log } from '../log.ts';
import { type BucketShape, LocalBucket, type Taken } from './bucket.ts';
import { RedisBuckets } from './redis-bucket.ts';
import { type FleetView, ownShare, redisShare } from './share.ts';

/** Which bucket a process takes from. It says so in its row of `worker` before it acts on it. */
export type LimiterMode = 'redis' | 'own';

/** How the process tells the others, and learns about them. */
export interface LimiterFleet {
  /** Says which bucket this process takes from, durably, and answers how the fleet looks now. */
  report(mode: LimiterMode): Promise<FleetView>;
}

/** How often the fleet is looked at. */
const LOOK_MS = 1_000;
/** A view older than this is no view: nothing is granted on it. */
const STALE_MS = 3_000;
/** Takes in a row that failed, after which Redis is not relied on, and looks in a row that went well, after which it is again. */
const FAILURES = 3;
const GOOD_LOOKS = 5;
/** After a process says that it sends by itself, the others need this long to have seen it, at the latest. */
const GRACE_MS = 4_000;

export interface Grant {
  readonly granted: number;
  /** When it is worth asking again, ms. */
  readonly waitMs: number;
  /** Gives back what was not used. Never throws. */
  giveBack(unused: number): Promise<void>;
}

const NONE: Grant = { granted: 0, waitMs: LOOK_MS, giveBack: async () => undefined };

/** What is kept for codes of a share of the route is the same part of the share; one token is left to everybody. */
function keptOf(keep: number, route: BucketShape, shape: BucketShape): number {
  return Math.max(0, Math.min((keep * shape.burst) / route.burst, shape.burst - 1));
}

/**
 * The rate of a route over all workers. With Redis, one bucket for the fleet; without it, each process keeps to its share. A
 * process that loses Redis says so, waits until everybody must have seen it, and then sends from its share, so that the sum never
 * is more than the rate, also while only half of the fleet sees Redis.
 */
export class RouteLimiter {
  readonly #redis: RedisBuckets | null;
  readonly #fleet: LimiterFleet;
  readonly #log: Log;
  readonly #own = new Map<string, LocalBucket>();
  readonly #nowMs: () => number;
  #mode: LimiterMode | null = null;
  #ownFromMs = Number.POSITIVE_INFINITY;
  /** What the fleet looked like within the grace period, the newest last. */
  #views: { readonly atMs: number; readonly view: FleetView }[] = [];
  #startedAtMs = 0;
  #failures = 0;
  /** Looks that went well since Redis was found not to work; null: it is relied on. */
  #goodLooks: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(
    redisUrl: string | undefined,
    fleet: LimiterFleet,
    log: Log,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#redis = redisUrl === undefined ? null : new RedisBuckets(redisUrl, log);
    this.#fleet = fleet;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Looks at the fleet from now on. */
  start(): void {
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
    void this.#look();
  }

  get mode(): LimiterMode | null {
    return this.#mode;
  }

  /**
   * Takes up to `wanted` tokens of a route.
   *
   * @param keep tokens left in the bucket for more urgent classes
   * @param least tokens of one request, which cannot be cut
   */
  async take(routeId: string, route: BucketShape, wanted: number, keep: number, least = 1): Promise<Grant> {
    if (wanted <= 0) return { ...NONE, waitMs: 0 };
    const newest = this.#views.at(-1);
    if (newest === undefined || this.#nowMs() - newest.atMs > STALE_MS) {
      void this.#look();
      return NONE;
    }
    if (this.#mode === 'redis' && this.#redis !== null)
      return this.#takeFromRedis(this.#redis, routeId, route, wanted, keep, least);
    const waitMs = this.#ownFromMs - this.#nowMs();
    if (waitMs > 0) return { ...NONE, waitMs };
    const shape = this.#least(route, (whole, view) => ownShare(whole, view, least));
    const bucket = this.#own.get(routeId) ?? new LocalBucket();
    this.#own.set(routeId, bucket);
    const taken = bucket.take(shape, wanted, keptOf(keep, route, shape), least);
    return { ...taken, giveBack: async (unused) => bucket.giveBack(unused) };
  }

  /**
   * The smallest share of the grace period: a share that grew is used only when those that shrank for it must have seen it. A
   * process that has not looked for that long has a share only where nobody sends by itself.
   */
  #least(route: BucketShape, share: (route: BucketShape, view: FleetView) => BucketShape): BucketShape {
    const shares = this.#views.map(({ view }) => share(route, view));
    const young = this.#nowMs() - this.#startedAtMs < GRACE_MS;
    if (young && this.#views.some(({ view }) => view.onRedis < view.processes)) return { rate: 0, burst: 0 };
    return { rate: Math.min(...shares.map((s) => s.rate)), burst: Math.min(...shares.map((s) => s.burst)) };
  }

  async #takeFromRedis(
    redis: RedisBuckets,
    routeId: string,
    route: BucketShape,
    wanted: number,
    keep: number,
    least: number,
  ): Promise<Grant> {
    const shape = this.#least(route, redisShare);
    const key = `sendledger:rate:${routeId}`;
    let taken: Taken;
    try {
      taken = await redis.take(key, shape, wanted, keptOf(keep, route, shape), least);
      this.#failures = 0;
    } catch (err) {
      this.#failures += 1;
      // Connected, and of no use: it hangs, or is full and refuses to write.
      if (this.#failures >= FAILURES && this.#goodLooks === null) {
        this.#goodLooks = 0;
        this.#log.warn({ err, route: routeId }, 'limiter_without_redis');
      }
      void this.#look();
      return NONE;
    }
    return {
      ...taken,
      giveBack: async (unused) => {
        // Tokens that do not find their way back are sent later, never twice.
        await redis.giveBack(key, unused).catch(() => undefined);
      },
    };
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const mode: LimiterMode = (await this.#reliable()) ? 'redis' : 'own';
    const changed = mode !== this.#mode;
    // Whichever bucket it was before: nothing more is taken from it once the others are told otherwise.
    if (changed) {
      this.#mode = mode;
      this.#ownFromMs = Number.POSITIVE_INFINITY;
      this.#views = [];
      this.#startedAtMs = this.#nowMs();
    }
    const askedAtMs = this.#nowMs();
    try {
      const view = await this.#fleet.report(mode);
      this.#views = [...this.#views.filter(({ atMs }) => askedAtMs - atMs <= GRACE_MS), { atMs: askedAtMs, view }];
    } catch (err) {
      this.#log.warn({ err }, 'limiter_view_failed');
      return;
    }
    if (!changed) return;
    this.#own.clear();
    if (mode === 'own') this.#ownFromMs = this.#nowMs() + GRACE_MS;
    this.#log.info({ limiter: mode, ...this.#views.at(-1)?.view }, 'limiter_mode');
  }

  /** Connected is not enough once takes have failed: then it has to work for a while first. */
  async #reliable(): Promise<boolean> {
    if (this.#redis?.up !== true) return false;
    if (this.#goodLooks === null) return true;
    this.#goodLooks = (await this.#redis.works()) ? this.#goodLooks + 1 : 0;
    if (this.#goodLooks < GOOD_LOOKS) return false;
    this.#goodLooks = null;
    this.#failures = 0;
    return true;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    this.#redis?.close();
  }
}
