import type { WaitingReceipt } from './postpone-receipts.ts';
import type { Sql } from './sql.ts';

/** A receipt that cannot be applied for what it holds is looked at ever more seldom, as one that matches nothing; at last once an hour. */
export async function setAsideReceipt(
  sql: Sql,
  receipt: Pick<WaitingReceipt, 'hash' | 'receivedMonth'>,
): Promise<void> {
  await sql.query(
    `update sendledger.delivery_receipt r
     set looks = least(r.looks + 1, 1000), next_look_at = now() + least(interval '5 s' * power(2, least(r.looks, 12)), interval '1 hour')
     where r.dedupe_hash = $1 and r.received_month = $2::date and r.applied_at is null`,
    [receipt.hash, receipt.receivedMonth],
  );
}
