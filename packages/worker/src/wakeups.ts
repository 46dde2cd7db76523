import { WAKE_PREFIX, type WakeJob, type WakeQueue, wakeJobOptions } from '@sendledger/core';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Log } from './log.ts';

/** A wake-up that takes longer is not worth waiting for: the poll finds the row anyway. */
const SEND_TIMEOUT_MS = 250;
/** A Redis that hangs keeps its connection: after a failure nothing is tried for this long, or each round would wait for it. */
const FAILED_PAUSE_MS = 2_000;

export interface WakeUps {
  /** Fires a wake-up after a commit. Time-boxed, never throws, counted when it fails. */
  send(queue: WakeQueue, lane: string): Promise<void>;
  /** Calls `nudge` for each wake-up of a queue. The handler returns at once: one handler per lane runs in the whole fleet. */
  listen(queue: WakeQueue, nudge: (lane: string) => void): void;
  /** Whether Redis answers right now; null where none is configured. */
  readonly up: boolean | null;
  readonly failures: number;
  close(): Promise<void>;
}

/** Redis carries hints and nothing else. Without a URL, or while it is down, the fleet lives by its polls. */
export function createWakeUps(redisUrl: string | undefined, log: Log): WakeUps {
  return redisUrl === undefined ? new NoWakeUps() : new RedisWakeUps(redisUrl, log);
}

class NoWakeUps implements WakeUps {
  readonly up = null;
  readonly failures = 0;
  async send(): Promise<void> {}
  listen(): void {}
  async close(): Promise<void> {}
}

class RedisWakeUps implements WakeUps {
  readonly #url: string;
  readonly #log: Log;
  readonly #sender: Redis;
  readonly #queues = new Map<WakeQueue, Queue<WakeJob>>();
  readonly #workers: Worker<WakeJob>[] = [];
  readonly #receivers: Redis[] = [];
  #failures = 0;
  #pausedUntil = 0;
  #toldDown = false;

  constructor(url: string, log: Log) {
    this.#url = url;
    this.#log = log;
    this.#sender = new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      connectTimeout: 2_000,
      commandTimeout: 1_000,
    });
    this.#sender.on('error', (err) => this.#down(err));
    this.#sender.on('ready', () => {
      if (this.#toldDown) this.#log.info('redis_back');
      this.#toldDown = false;
    });
  }

  get up(): boolean {
    return this.#sender.status === 'ready' && Date.now() >= this.#pausedUntil;
  }

  get failures(): number {
    return this.#failures;
  }

  async send(queue: WakeQueue, lane: string): Promise<void> {
    if (!this.up) {
      this.#failures++;
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    try {
      await Promise.race([
        this.#queue(queue).add(lane, { lane }, wakeJobOptions(lane)),
        new Promise<never>((_, reject) => {
          timer = setTimeout(() => reject(new Error('wake-up timed out')), SEND_TIMEOUT_MS);
        }),
      ]);
    } catch {
      this.#failures++;
      this.#pausedUntil = Date.now() + FAILED_PAUSE_MS;
    } finally {
      clearTimeout(timer);
    }
  }

  listen(queue: WakeQueue, nudge: (lane: string) => void): void {
    // A blocking client of its own: it must wait for ever, where the sender must give up at once.
    const receiver = new Redis(this.#url, { maxRetriesPerRequest: null, connectTimeout: 2_000 });
    receiver.on('error', (err) => this.#down(err));
    const worker = new Worker<WakeJob>(
      queue,
      async (job) => {
        nudge(job.data.lane);
      },
      { connection: receiver, prefix: WAKE_PREFIX, concurrency: 4 },
    );
    worker.on('error', (err) => this.#down(err));
    this.#receivers.push(receiver);
    this.#workers.push(worker);
  }

  async close(): Promise<void> {
    const closing = Promise.allSettled([
      ...this.#workers.map((w) => w.close(true)),
      ...[...this.#queues.values()].map((q) => q.close()),
    ]);
    // With Redis gone a close may never end; the process must.
    await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, 2_000).unref())]);
    for (const client of [this.#sender, ...this.#receivers]) client.disconnect();
  }

  #queue(name: WakeQueue): Queue<WakeJob> {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue = new Queue<WakeJob>(name, { connection: this.#sender, prefix: WAKE_PREFIX });
    queue.on('error', (err) => this.#down(err));
    this.#queues.set(name, queue);
    return queue;
  }

  /** One line when it goes and one when it is back, not one for every attempt in between. */
  #down(err: Error): void {
    if (!this.#toldDown) this.#log.warn({ err }, 'redis_down');
    this.#toldDown = true;
  }
}
