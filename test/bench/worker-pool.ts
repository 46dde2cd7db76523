import { WORKER_SESSION } from '@sendledger/core/ledger';
import pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';

/** Connections as a worker has them: plans are made once, and nothing is compiled. */
export function workerPool(url: string, connections: number, cleanup: Cleanup): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    onConnect: async (client: pg.ClientBase) => {
      await client.query(WORKER_SESSION);
    },
  });
  pool.on('error', () => undefined);
  cleanup.add('close connections of a worker', () => pool.end());
  return pool;
}
