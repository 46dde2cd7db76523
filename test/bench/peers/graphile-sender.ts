import { Logger, runMigrations } from 'graphile-worker';
import pg from 'pg';
import type { Cleanup } from '../../../apps/demo/src/cleanup.ts';
import { type SendForm, type SendingPeer, startSender } from './sender.ts';

/** Lower comes first. */
const PRIORITY = { code: -10, promotion: 10 } as const;
export const GRAPHILE_TASKS = { code: 'code', promotion: 'promotion' } as const;

/** graphile-worker as it comes, woken by NOTIFY; no local queue, which would hold jobs back behind those it took before. */
export async function graphileSender(url: string, cleanup: Cleanup): Promise<SendingPeer> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  await runMigrations({ pgPool: pool, logger: new Logger(() => () => undefined) });
  const add = (tx: pg.ClientBase, kind: keyof typeof PRIORITY, forms: readonly SendForm[]) =>
    tx.query(
      'select count(*) from graphile_worker.add_jobs(array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))',
      [
        JSON.stringify(
          forms.map((payload) => ({ identifier: GRAPHILE_TASKS[kind], payload, priority: PRIORITY[kind] })),
        ),
      ],
    );
  return {
    name: 'graphile-worker',
    enqueueCode: async (tx, form) => {
      await tx.query('select graphile_worker.add_job($1, $2::json, priority => $3)', [
        GRAPHILE_TASKS.code,
        JSON.stringify(form),
        PRIORITY.code,
      ]);
    },
    enqueuePromotions: async (tx, forms) => {
      await add(tx, 'promotion', forms);
    },
    startWorker: (task) => startSender('./graphile-sender-process.ts', task, cleanup),
    stop: () => pool.end(),
  };
}
