import { PgBoss } from 'pg-boss';
import type { Cleanup } from '../../../apps/demo/src/cleanup.ts';
import { inside } from './pg-boss.ts';
import { type SendingPeer, startSender } from './sender.ts';

/** The codes have a queue of their own, whose workers are woken by NOTIFY: no promotion stands before them. */
export const BOSS_QUEUES = { code: 'codes', promotion: 'promotions' } as const;

export async function pgBossSender(url: string, cleanup: Cleanup): Promise<SendingPeer> {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false, max: 2 });
  boss.on('error', () => undefined);
  await boss.start();
  for (const queue of Object.values(BOSS_QUEUES)) await boss.createQueue(queue, { notify: true });
  return {
    name: 'pg-boss',
    enqueueCode: async (tx, form) => {
      await boss.send(BOSS_QUEUES.code, form, inside(tx));
    },
    enqueuePromotions: async (tx, forms) => {
      await boss.insert(
        BOSS_QUEUES.promotion,
        forms.map((data) => ({ data })),
        inside(tx),
      );
    },
    startWorker: (task) => startSender('./pg-boss-sender-process.ts', task, cleanup),
    stop: () => boss.stop({ graceful: false, close: true }),
  };
}
