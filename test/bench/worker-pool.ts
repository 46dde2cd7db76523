import pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';

/** Connections as a worker has them: plans are made once, and nothing is compiled. */
export function workerPool(url: string, connections: number, cleanup: Cleanup): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    onConnect: async (client: pg.ClientBase) => {
      await client.query('set plan_cache_mode = force_generic_plan; set jit = off');
    },
  });
  pool.on('error', () => undefined);
  cleanup.add('close connections of a worker', () => pool.end());
  return pool;
}
