import { createWaker } from '@sendledger/producer';

/** Tells the workers of lanes that have something due, once it is committed. A hint: without Redis they poll. */
export async function wakeLanes(redisUrl: string | null, lanes: readonly (string | null)[]): Promise<void> {
  const waker = createWaker(redisUrl);
  try {
    await waker.wake(new Set(lanes.filter((lane) => lane !== null)));
  } finally {
    await waker.close();
  }
}
