import type { Sql } from '@sendledger/core/ledger';
import type { SqlExecutor } from './sql-executor.ts';

/** The caller's client as the statements of the ledger want it. */
export function ledgerSql(sql: SqlExecutor): Sql {
  return {
    async query(text, values) {
      const { rows } = await sql.query(text, values);
      return { rows, rowCount: rows.length };
    },
  };
}
