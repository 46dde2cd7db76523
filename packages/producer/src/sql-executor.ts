import { SendledgerError } from '@sendledger/core';
import { isMikroOrm, type MikroOrmManager, mikroOrmExecutor } from './mikro-orm-executor.ts';

/**
 * The one thing the producer needs of a database client: a statement with `$1` parameters, run in the transaction that
 * the client is in. A `pg` client is one as it is.
 */
export interface SqlExecutor {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  /** `T` inside a transaction, as `pg` has it from the server; what cannot say is asked by a savepoint. */
  getTransactionStatus?(): string | null;
}

/** What the caller's transaction may be given as. */
export type Transaction = SqlExecutor | MikroOrmManager;

/**
 * @throws SendledgerError SENDLEDGER_TRANSACTION_NEEDED for a pool, where every statement may run on another connection, and
 *   for an entity manager outside a transaction.
 */
export function sqlExecutor(tx: Transaction): SqlExecutor {
  if (isMikroOrm(tx)) return mikroOrmExecutor(tx);
  if ('totalCount' in tx && 'idleCount' in tx) {
    throw new SendledgerError('SENDLEDGER_TRANSACTION_NEEDED', 'A pool was given.');
  }
  return tx;
}

/** Where something is only read: a pool will do, since each statement may run on a connection of its own. */
export type Reader = Transaction;

export function readerOf(reader: Reader): SqlExecutor {
  return isMikroOrm(reader) ? mikroOrmExecutor(reader) : reader;
}

/** What is one and the same for all who run in one transaction: entity managers that share one are different objects. */
export function transactionOf(tx: Transaction): object {
  const shared: unknown = isMikroOrm(tx) ? tx.getTransactionContext() : undefined;
  return typeof shared === 'object' && shared !== null ? shared : tx;
}
