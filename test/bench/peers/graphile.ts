import { Logger, type Runner, run, runMigrations } from 'graphile-worker';
import pg from 'pg';
import type { Payload, Peer } from './peer.ts';

const TASK = 'message';

/** graphile-worker, tuned as its pages say for throughput (a local queue, completions in batches), and as it comes for latency. */
export async function startGraphile(url: string): Promise<Peer> {
  const logger = new Logger(() => () => undefined);
  const pool = new pg.Pool({ connectionString: url, max: 12 });
  pool.on('error', () => undefined);
  await runMigrations({ pgPool: pool, logger });
  let runner: Runner | undefined;
  return {
    name: 'graphile-worker',
    enqueueOne: async (tx, payload) => {
      await tx.query('select graphile_worker.add_job($1, $2::json)', [TASK, JSON.stringify(payload)]);
    },
    enqueueMany: async (tx, payloads) => {
      await tx.query(
        'select count(*) from graphile_worker.add_jobs(array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))',
        [JSON.stringify(payloads.map((payload) => ({ identifier: TASK, payload })))],
      );
    },
    drain: async (count) => {
      let done = 0;
      const { promise, resolve } = Promise.withResolvers<void>();
      runner = await run({
        pgPool: pool,
        logger,
        noHandleSignals: true,
        preset: {
          worker: { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
        },
        taskList: {
          [TASK]: () => {
            done += 1;
            if (done >= count) resolve();
          },
        },
      });
      await promise;
      // Its last completions are written by then.
      await runner.stop();
      runner = undefined;
    },
    listen: async (arrived) => {
      runner = await run({
        pgPool: pool,
        logger,
        noHandleSignals: true,
        concurrency: 10,
        taskList: { [TASK]: (payload) => arrived(payload as Payload) },
      });
    },
    stop: async () => {
      await runner?.stop();
      await pool.end();
    },
  };
}
