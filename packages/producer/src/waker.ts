import { WAKE_PREFIX, type WakeJob, type WakeQueue, wakeJobOptions } from '@sendledger/core';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';

/** Longest that a wake-up may hold up its caller. With a Redis that was never up, `add` settles neither way. */
const WAKE_TIMEOUT_MS = 250;
const CONNECT_TIMEOUT_MS = 1_000;
const CLOSE_TIMEOUT_MS = 1_000;
const FAILED_PAUSE_MS = 2_000;

/** Tells the workers of a queue that a lane has something due. A hint: one that is lost costs the workers' poll interval. */
export interface Waker {
  /** Wake-ups that did not get through, one per lane. */
  readonly failures: number;
  /** Never rejects, and settles within 250 ms. */
  wake(lanes: ReadonlySet<string>): Promise<void>;
  close(): Promise<void>;
}

/** Without a Redis there is nobody to tell; workers find the rows by their own poll. */
const SILENT_WAKER: Waker = { failures: 0, wake: async () => undefined, close: async () => undefined };

/**
 * @param redisUrl null or left out: nobody is told.
 * @param queue whose workers are told.
 */
export function createWaker(redisUrl: string | null | undefined, queue: WakeQueue = 'claim'): Waker {
  return typeof redisUrl === 'string' ? new RedisWaker(redisUrl, queue) : SILENT_WAKER;
}

class RedisWaker implements Waker {
  failures = 0;
  readonly #redis: Redis;
  readonly #queue: Queue<WakeJob>;
  /** Set by a failed wake-up, so that a dead Redis costs the first caller its timeout and not each one. */
  #down = false;
  /** One that hangs stays `ready`: after a failure none is tried for a while. */
  #pausedUntil = 0;

  constructor(redisUrl: string, queue: WakeQueue) {
    this.#redis = new Redis(redisUrl, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: WAKE_TIMEOUT_MS,
    });
    // Without listeners ioredis prints and an EventEmitter throws; what matters is counted where a wake-up fails.
    this.#redis.on('error', () => undefined);
    this.#redis.on('ready', () => {
      this.#down = false;
      this.#pausedUntil = 0;
    });
    this.#queue = new Queue<WakeJob>(queue, { connection: this.#redis, prefix: WAKE_PREFIX });
    this.#queue.on('error', () => undefined);
  }

  async wake(lanes: ReadonlySet<string>): Promise<void> {
    if (lanes.size === 0) return;
    if ((this.#down && this.#redis.status !== 'ready') || performance.now() < this.#pausedUntil) {
      this.failures += lanes.size;
      return;
    }
    await Promise.all([...lanes].map((lane) => this.#add(lane)));
  }

  async #add(lane: string): Promise<void> {
    const added = this.#queue.add('wake', { lane }, wakeJobOptions(lane)).then(
      () => true,
      () => false,
    );
    if (await within(added, WAKE_TIMEOUT_MS)) return;
    this.failures += 1;
    this.#down = true;
    this.#pausedUntil = performance.now() + FAILED_PAUSE_MS;
  }

  async close(): Promise<void> {
    const closed = this.#queue.close().then(
      () => true,
      () => false,
    );
    await within(closed, CLOSE_TIMEOUT_MS);
    this.#redis.disconnect();
  }
}

/** What the promise resolves to, or false once the time is over. */
async function within(promise: Promise<boolean>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
