import type pg from 'pg';
import { rowsOf } from '../../src/ledger/index.ts';

/**
 * Waits until the session of `client` waits for a lock, or its statement is over. Asked of the server, not of a clock: the
 * test then knows that both transactions are open at once.
 */
export async function untilWaiting(
  watch: pg.Pool,
  client: pg.PoolClient,
  statement: Promise<unknown>,
): Promise<'waits' | 'over'> {
  let over = false;
  const end = () => {
    over = true;
  };
  statement.then(end, end);
  const { processID } = client as pg.PoolClient & { processID: number };
  while (!over) {
    const [row] = await rowsOf<{ waits: boolean }>(watch, `select cardinality(pg_blocking_pids($1)) > 0 as waits`, [
      processID,
    ]);
    if (row?.waits === true) return 'waits';
  }
  return 'over';
}
