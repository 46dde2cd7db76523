import { rowsOf } from '@sendledger/core/ledger';
import type { TestDatabase } from '@sendledger/local';

/** State, cost and cause of each recipient's one message, so that two runs can be compared. */
export async function finalStates(database: TestDatabase): Promise<Record<string, string>> {
  const rows = await rowsOf<{ recipient: string; said: string }>(
    database.pool,
    `select recipient, state || ' ' || coalesce(cost::text, '-') || case when conflict then ' conflict' else '' end as said
     from sendledger.outbound_message order by recipient`,
  );
  return Object.fromEntries(rows.map(({ recipient, said }) => [recipient, said]));
}
