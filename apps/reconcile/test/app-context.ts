import { registerWorker } from '@sendledger/core/ledger';
import { type AppContext, createLog, createWakeUps, Registry } from '@sendledger/worker';
import type pg from 'pg';

/** What the app is given to work with, without Redis and without a log. */
export async function contextOf(pool: pg.Pool): Promise<AppContext> {
  const log = createLog('reconcile', 'silent', 'test');
  return {
    pool,
    sql: pool,
    log,
    wakeUps: createWakeUps(undefined, log),
    worker: await registerWorker(pool, 'reconcile', 'test'),
    registry: new Registry(),
  };
}
