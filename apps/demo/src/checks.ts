import { rowsOf, type Sql } from '@sendledger/core/ledger';
import { acceptedCopies } from './simulator-books.ts';

// The verdict is taken from what the shop's tables, the ledger's rows and the simulator's log say of each other, never
// from a counter of a program that took part.

/** What the shop's tables call for: how many messages of which event to whom. */
const CALLED_FOR = `
  select 'order.placed' as event_type, o.id as event_id, o.phone, 1 as messages from shop.orders o
  union all select 'order.code', o.id, o.phone, 1 from shop.orders o where o.code_asked
  union all select 'order.reminder', o.id, o.phone, o.reminders from shop.orders o where o.reminders > 0
  union all select 'sale.announced', a.announcement_id, a.phone, 1 from shop.announced a
  union all select l.event_type, l.event_id, l.phone, count(*)::integer from shop.input_lines l group by 1, 2, 3`;

export interface ShopAgainstLedger {
  /** Messages the shop's tables call for without a row that is final or unknown. */
  readonly lost: number;
  /** Rows nothing in the shop calls for: of a transaction that rolled back, or of an event told twice. */
  readonly uncalled: number;
}

export async function shopAgainstLedger(sql: Sql): Promise<ShopAgainstLedger> {
  const [row] = await rowsOf<ShopAgainstLedger>(
    sql,
    `with called_for as (${CALLED_FOR}), kept as (
       select m.event_type, m.event_id, '+' || m.recipient as phone, count(*) as rows,
         count(*) filter (where m.state not in ('pending', 'claimed', 'retry', 'submitted')) as settled
       from sendledger.outbound_message m group by 1, 2, 3
     )
     select coalesce(sum(greatest(0, coalesce(c.messages, 0) - coalesce(k.settled, 0))), 0)::integer as lost,
       coalesce(sum(greatest(0, coalesce(k.rows, 0) - coalesce(c.messages, 0))), 0)::integer as uncalled
     from called_for c full join kept k using (event_type, event_id, phone)`,
  );
  if (row === undefined) throw new Error('an aggregate without a row');
  return row;
}

/**
 * Texts the gateway accepted beyond the ledger's rows for that number and text. Only rows that may have been sent count: one
 * that the ledger calls rejected, or that still waits, has not gone out as far as the ledger knows.
 */
export async function duplicates(sql: Sql, simulatorUrl: string): Promise<number> {
  const rows = await rowsOf<{ recipient: string; sha256: string; rows: number }>(
    sql,
    `select m.recipient, encode(sha256(convert_to(m.body, 'UTF8')), 'hex') as sha256, count(*)::integer as rows
     from sendledger.outbound_message m
     where m.state in ('claimed', 'submitted', 'unknown', 'delivered', 'failed')
       or (m.state = 'expired' and m.requested_at is not null)
     group by 1, 2`,
  );
  const ours = new Map(rows.map((row) => [`${row.recipient} ${row.sha256}`, row.rows]));
  let beyond = 0;
  for (const [key, copies] of await acceptedCopies(simulatorUrl)) beyond += Math.max(0, copies - (ours.get(key) ?? 0));
  return beyond;
}
