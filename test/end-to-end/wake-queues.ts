import { createRequire } from 'node:module';
import { WAKE_PREFIX, WAKE_QUEUES, type WakeJob, type WakeQueue } from '@sendledger/core';

/** As much of BullMQ's queue as a test looks at. */
interface Queue {
  pause(): Promise<void>;
  isPaused(): Promise<boolean>;
  getJobCounts(): Promise<Record<string, number>>;
  getJobs(): Promise<readonly { readonly data: WakeJob }[]>;
  close(): Promise<void>;
}

type QueueClass = new (name: string, options: { connection: { url: string }; prefix: string }) => Queue;

// BullMQ is a dependency of the packages that use it; what they put there is read with their own version of it.
const bullmq: { Queue: QueueClass } = createRequire(new URL('../../packages/worker/package.json', import.meta.url))(
  'bullmq',
);

/** The wake-up queues of a fleet, seen from outside. */
export class WakeQueues {
  readonly #queues: ReadonlyMap<WakeQueue, Queue>;

  constructor(redisUrl: string) {
    this.#queues = new Map(
      WAKE_QUEUES.map((name) => [name, new bullmq.Queue(name, { connection: { url: redisUrl }, prefix: WAKE_PREFIX })]),
    );
  }

  /** Jobs in whatever state, by queue. */
  async lengths(): Promise<Record<WakeQueue, number>> {
    const counted = await Promise.all(
      [...this.#queues].map(async ([name, queue]) => {
        const counts = await queue.getJobCounts();
        return [name, Object.values(counts).reduce((sum, count) => sum + count, 0)] as const;
      }),
    );
    return Object.fromEntries(counted) as Record<WakeQueue, number>;
  }

  /** The lanes that jobs name, of all queues. */
  async lanes(): Promise<string[]> {
    const jobs = await Promise.all([...this.#queues.values()].map((queue) => queue.getJobs()));
    return jobs.flat().map(({ data }) => data.lane);
  }

  /** From now on no job of any queue is handed to anybody. */
  async pause(): Promise<void> {
    for (const queue of this.#queues.values()) await queue.pause();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}
