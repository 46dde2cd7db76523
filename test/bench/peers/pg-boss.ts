import type pg from 'pg';
import { PgBoss } from 'pg-boss';
import type { Peer } from './peer.ts';

const QUEUE = 'messages';

/** What pg-boss wants to write in somebody's transaction. */
export const inside = (tx: pg.ClientBase) => ({
  db: {
    executeSql: async (text: string, values?: unknown[]) => {
      const { rows } = await tx.query(text, values);
      return { rows };
    },
  },
});

/** pg-boss as its pages say it is used where speed matters: inserts in batches, workers that take batches. */
export async function startPgBoss(url: string): Promise<Peer> {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false, max: 8 });
  boss.on('error', () => undefined);
  await boss.start();
  await boss.createQueue(QUEUE);
  return {
    name: 'pg-boss',
    enqueueOne: async (tx, payload) => {
      await boss.send(QUEUE, payload, inside(tx));
    },
    enqueueMany: async (tx, payloads) => {
      await boss.insert(
        QUEUE,
        payloads.map((data) => ({ data })),
        inside(tx),
      );
    },
    drain: async (count) => {
      let done = 0;
      const { promise, resolve } = Promise.withResolvers<void>();
      const options = { batchSize: 500, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true } as const;
      for (let worker = 0; worker < 2; worker++)
        await boss.work(QUEUE, options, async (jobs) => {
          done += jobs.length;
          if (done >= count) resolve();
        });
      await promise;
      await boss.offWork(QUEUE);
    },
    listen: async (arrived) => {
      await boss.work(QUEUE, { batchSize: 1, pollingIntervalSeconds: 0.5 }, async (jobs) => {
        for (const job of jobs) arrived(job.data as Readonly<Record<string, unknown>>);
      });
    },
    stop: () => boss.stop({ graceful: false, close: true }),
  };
}
