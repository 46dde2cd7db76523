import { BACKFILL_LANE, type WakeQueue } from '@sendledger/core';
import { createWaker } from '@sendledger/producer';

/** Tells the workers of lanes that have something due, once it is committed. A hint: without Redis they poll. */
export async function wakeLanes(redisUrl: string | null, lanes: readonly (string | null)[]): Promise<void> {
  await wake(redisUrl, 'claim', lanes);
}

/** Tells the backfill workers that there are days to read. */
export async function wakeBackfill(redisUrl: string | null): Promise<void> {
  await wake(redisUrl, 'backfill', [BACKFILL_LANE]);
}

async function wake(redisUrl: string | null, queue: WakeQueue, lanes: readonly (string | null)[]): Promise<void> {
  const waker = createWaker(redisUrl, queue);
  try {
    await waker.wake(new Set(lanes.filter((lane) => lane !== null)));
  } finally {
    await waker.close();
  }
}
