import type { EntityManager } from '@mikro-orm/postgresql';
import { SendledgerError } from '@sendledger/core';
import type { SqlExecutor, Transaction } from './sql-executor.ts';

/** The part of a MikroORM entity manager that is used; any entity manager of the Postgres driver has it. */
export type MikroOrmManager = Pick<EntityManager, 'isInTransaction' | 'getKysely' | 'getTransactionContext'>;

export function isMikroOrm(tx: Transaction): tx is MikroOrmManager {
  return 'getKysely' in tx && typeof tx.getKysely === 'function';
}

/**
 * Runs statements in the entity manager's own transaction. Through Kysely, because `em.execute` puts values into the text
 * on the client and does not know `$1`; the query object is made by hand, so that Kysely is no dependency of ours.
 */
export function mikroOrmExecutor(em: MikroOrmManager): SqlExecutor {
  if (!em.isInTransaction()) {
    throw new SendledgerError('SENDLEDGER_TRANSACTION_NEEDED', 'The entity manager is in no transaction.');
  }
  return {
    // Its own client may have it otherwise once the transaction has failed; then the statement says so.
    getTransactionStatus: () => 'T',
    async query(text, values = []) {
      const { rows } = await em.getKysely().executeQuery<Record<string, unknown>>({
        sql: text,
        parameters: values,
        query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
        queryId: { queryId: 'sendledger' },
      });
      return { rows };
    },
  };
}
