import type { RowRef } from './identity.ts';
import type { StoredReceipt } from './match-receipts.ts';
import type { Sql } from './sql.ts';

/** A receipt is applied once: to this row, and with or without a contradiction. */
export async function markApplied(
  sql: Sql,
  done: readonly { ref: RowRef; receipt: StoredReceipt; conflict: boolean }[],
): Promise<void> {
  if (done.length === 0) return;
  // Sorted as bytea is, for `width_bucket`. Each is in here once: its row was locked by its hash.
  const sorted = done.toSorted((a, b) => Buffer.compare(a.receipt.hash, b.receipt.hash));
  await sql.query(
    `update sendledger.delivery_receipt r
     set (message_id, message_created_at, applied_at, conflict) = (
       select ($3::bigint[])[x.pos], ($4::timestamptz[])[x.pos], now(), ($5::boolean[])[x.pos]
       from (select width_bucket(r.dedupe_hash, $1::bytea[]) as pos) x)
     where r.dedupe_hash = any ($1::bytea[]) and r.received_month = any ($2::date[])
       and coalesce(r.applied_at, 'infinity') = 'infinity'`,
    [
      sorted.map((d) => d.receipt.hash),
      [...new Set(sorted.map((d) => d.receipt.receivedMonth))],
      sorted.map((d) => d.ref.id),
      sorted.map((d) => d.ref.createdAt),
      sorted.map((d) => d.conflict),
    ],
  );
}
