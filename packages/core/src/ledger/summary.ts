import type { MessageState } from '../domain/state.ts';
import { adjustmentSums } from './charge-adjustment.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface LedgerSummary {
  readonly states: Readonly<Record<MessageState, number>>;
  /** Money by currency, as decimal text; never summed across currencies. `adjusted`: refunds and corrections, signed. */
  readonly billed: readonly {
    readonly currency: string;
    readonly cost: string;
    readonly units: string;
    readonly adjusted: string;
  }[];
}

/** Counts by state and the cost of every row that has one: rows with a cost, never rows in a state. Scans the months asked for. */
export async function ledgerSummary(sql: Sql, since: Date): Promise<LedgerSummary> {
  const rows = await rowsOf<{ state: MessageState; rows: string }>(
    sql,
    `select m.state, count(*)::text as rows from sendledger.outbound_message m where m.created_at >= $1 group by m.state`,
    [since],
  );
  const billed = await rowsOf<{ currency: string; cost: string; units: string }>(
    sql,
    `select m.cost_currency as currency, sum(m.cost)::text as cost, sum(m.billable_units)::text as units
     from sendledger.outbound_message m where m.created_at >= $1 and m.cost is not null group by 1 order by 1`,
    [since],
  );
  // Money that came back stands beside what was paid, and changes no charge.
  const adjusted = new Map((await adjustmentSums(sql, since)).map((sum) => [sum.currency, sum.amount]));
  const states: Record<MessageState, number> = {
    pending: 0,
    claimed: 0,
    retry: 0,
    submitted: 0,
    unknown: 0,
    delivered: 0,
    failed: 0,
    rejected: 0,
    expired: 0,
    cancelled: 0,
    superseded: 0,
  };
  for (const row of rows) states[row.state] = Number(row.rows);
  return { states, billed: billed.map((sum) => ({ ...sum, adjusted: adjusted.get(sum.currency) ?? '0.0000' })) };
}
