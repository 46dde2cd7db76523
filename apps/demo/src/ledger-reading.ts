import { isFinal, type MessageClass, type MessageState } from '@sendledger/core';
import { ledgerSummary, rowsOf, type Sql } from '@sendledger/core/ledger';
import { SIMULATED_CURRENCY } from './provider.ts';

type Counts = Readonly<Partial<Record<MessageState, number>>>;

/** The ledger at one moment. */
export interface LedgerReading {
  readonly byClass: ReadonlyMap<MessageClass, Counts>;
  readonly states: Counts;
  readonly rows: number;
  /** Rows neither final nor unknown: something is still going to happen to them. */
  readonly open: number;
}

export async function readLedger(sql: Sql): Promise<LedgerReading> {
  const rows = await rowsOf<{ message_class: MessageClass; state: MessageState; rows: number }>(
    sql,
    `select m.message_class, m.state, count(*)::integer as rows from sendledger.outbound_message m
     group by m.message_class, m.state`,
  );
  const byClass = new Map<MessageClass, Partial<Record<MessageState, number>>>();
  const states: Partial<Record<MessageState, number>> = {};
  let total = 0;
  let open = 0;
  for (const row of rows) {
    const counts = byClass.get(row.message_class) ?? {};
    counts[row.state] = row.rows;
    byClass.set(row.message_class, counts);
    states[row.state] = (states[row.state] ?? 0) + row.rows;
    total += row.rows;
    if (!isFinal(row.state) && row.state !== 'unknown') open += row.rows;
  }
  return { byClass, states, rows: total, open };
}

/** Money of every row that has a cost, as decimal text. The demo's database knows one currency. */
export async function billed(sql: Sql): Promise<string> {
  const { billed } = await ledgerSummary(sql, new Date(0));
  return billed.find((sum) => sum.currency === SIMULATED_CURRENCY)?.cost ?? '0.0000';
}

/** What a run that did not end is still waiting for, in words. */
export async function whatIsOpen(sql: Sql): Promise<string[]> {
  const rows = await rowsOf<{
    message_class: string;
    state: string;
    reason: string | null;
    rows: number;
    oldest: number;
  }>(
    sql,
    `select m.message_class, m.state, m.state_reason as reason, count(*)::integer as rows,
       extract(epoch from now() - min(m.updated_at))::integer as oldest
     from sendledger.outbound_message m where m.state in ('pending', 'claimed', 'retry', 'submitted')
     group by 1, 2, 3 order by 1, 2, 3`,
  );
  return rows.map(
    (row) =>
      `${row.rows} ${row.message_class} ${row.state}${row.reason === null ? '' : ` (${row.reason})`}, the oldest untouched for ${row.oldest} s`,
  );
}
