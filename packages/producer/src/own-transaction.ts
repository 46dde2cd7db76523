import type { OwnTransaction } from '@sendledger/core/ledger';
import { ledgerSql } from './ledger-sql.ts';
import { type ClientPool, inTransaction } from './transaction.ts';

/** On disk when it has answered, whatever the default of the role: what was answered as cancelled is not sent after a crash. */
const DURABLE = `select set_config('synchronous_commit',
  case when current_setting('synchronous_commit') in ('on', 'remote_apply') then current_setting('synchronous_commit') else 'on' end, true)`;

/**
 * Each step in a transaction of its own, on a client of the pool.
 *
 * @param what is done so, for the error; `instead`: what a caller with a transaction may do
 * @throws TypeError for a client: a step that others cannot see stops none of them, so no caller's transaction may be around it
 */
export function ownTransactions(pool: ClientPool, what: string, instead = ''): OwnTransaction {
  if (!isPool(pool))
    throw new TypeError(`${what} in transactions of its own: give the pool, and not a client.${instead}`);
  return async (work) => {
    const client = await pool.connect();
    return inTransaction(client, async () => {
      await client.query(DURABLE);
      return work(ledgerSql(client));
    });
  };
}

/** A client of `pg` connects too, but it is released, or ended as a whole, and has a connection of its own. */
function isPool(given: unknown): boolean {
  if (typeof given !== 'object' || given === null || !('connect' in given)) return false;
  return !('release' in given) && !('connection' in given) && !('processID' in given);
}
