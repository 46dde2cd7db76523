import { PgBoss } from 'pg-boss';
import { BOSS_QUEUES } from './pg-boss-sender.ts';
import type { SendForm } from './sender.ts';
import { send, task, untilLetGo } from './sending.ts';

/** More codes than come while one is on the wire. */
const CODES_AT_ONCE = 4;
const BATCHES_AT_ONCE = 4;

const boss = new PgBoss({
  connectionString: task.databaseUrl,
  supervise: false,
  schedule: false,
  max: 12,
  useListenNotify: true,
});
boss.on('error', () => undefined);
await boss.start();
const post = async (jobs: readonly { readonly data: unknown }[]) => {
  await Promise.all(jobs.map(({ data }) => send(data as SendForm)));
};
await boss.work(BOSS_QUEUES.code, { batchSize: 1, localConcurrency: CODES_AT_ONCE, pollingIntervalSeconds: 0.5 }, post);
if (task.promotions) {
  const batchSize = Math.max(2, Math.floor(task.inFlight / BATCHES_AT_ONCE));
  const options = {
    batchSize,
    localConcurrency: BATCHES_AT_ONCE,
    pollingIntervalSeconds: 0.5,
    burstWhenBatchFull: true,
  };
  await boss.work(BOSS_QUEUES.promotion, options, post);
}
untilLetGo(() => boss.stop({ graceful: true, close: true, timeout: 5_000 }));
