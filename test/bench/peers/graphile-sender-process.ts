import { Logger, run } from 'graphile-worker';
import pg from 'pg';
import { GRAPHILE_TASKS } from './graphile-sender.ts';
import type { SendForm } from './sender.ts';
import { send, task, untilLetGo } from './sending.ts';

const pool = new pg.Pool({ connectionString: task.databaseUrl, max: 12 });
pool.on('error', () => undefined);
pool.on('connect', (client) => client.on('error', () => undefined));
const post = (payload: unknown) => send(payload as SendForm);
const runner = await run({
  pgPool: pool,
  logger: new Logger(() => () => undefined),
  noHandleSignals: true,
  concurrency: task.inFlight,
  taskList: { [GRAPHILE_TASKS.code]: post, ...(task.promotions ? { [GRAPHILE_TASKS.promotion]: post } : {}) },
});
untilLetGo(() => runner.stop());
