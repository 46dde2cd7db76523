import { WAKE_PREFIX, WAKE_QUEUES } from '@sendledger/core';
import type { Log } from '@sendledger/worker';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';

/** The wake-up queues as they are looked at: nothing is written, and a Redis that is away fails at once. */
export class WakeQueueViews {
  readonly queues: readonly Queue[];
  readonly #redis: Redis;
  #toldDown = false;

  constructor(url: string, log: Log) {
    this.#redis = new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      connectTimeout: 2_000,
      commandTimeout: 2_000,
    });
    const down = (err: Error) => {
      if (!this.#toldDown) log.warn({ err }, 'redis_down');
      this.#toldDown = true;
    };
    this.#redis.on('error', down);
    this.#redis.on('ready', () => {
      this.#toldDown = false;
    });
    this.queues = WAKE_QUEUES.map((name) => {
      // Without the last, opening a queue writes into Redis.
      const queue = new Queue(name, { connection: this.#redis, prefix: WAKE_PREFIX, skipMetasUpdate: true });
      queue.on('error', down);
      return queue;
    });
  }

  get up(): boolean {
    return this.#redis.status === 'ready';
  }

  async close(): Promise<void> {
    await Promise.race([
      Promise.allSettled(this.queues.map((queue) => queue.close())),
      new Promise((resolve) => setTimeout(resolve, 1_000).unref()),
    ]);
    this.#redis.disconnect();
  }
}
