import { rowKeys } from './identity.ts';
import type { StoredReceipt, Target } from './match-receipts.ts';
import { openReview } from './open-review.ts';
import { rowsOf, type Sql } from './sql.ts';

/**
 * Evidence that the provider took messages that were closed without a cost. The state stands, since terminal is terminal, and
 * the money is set right: cost and ids once, at the quote, with a flag and a review item. A row that was never claimed has no
 * quote, so that only a person can say what it cost.
 */
export async function billAfterClose(
  sql: Sql,
  routeId: string,
  found: readonly { readonly ref: Target; readonly receipt: StoredReceipt }[],
): Promise<number> {
  if (found.length === 0) return 0;
  const byRow = new Map(found.map((f) => [f.ref.id, f]));
  const rows = [...byRow.values()];
  const billed = await rowsOf<{ id: string; cost: string; currency: string }>(
    sql,
    `update sendledger.outbound_message m
     set cost = m.quoted_cost, billable_units = m.quoted_units, cost_currency = m.quoted_currency, cost_source = 'evidence',
       billed_after_close_at = now(), conflict = true, updated_at = now(), reconciled_at = now(),
       provider_txn_id = coalesce(m.provider_txn_id, ($4::text[])[array_position($1::bigint[], m.id)])
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3
       and m.state::text in ('failed', 'rejected', 'expired', 'cancelled') and m.cost is null and m.quoted_cost is not null
     returning m.id, m.cost::text as cost, m.cost_currency as currency`,
    [...rowKeys(rows.map((f) => f.ref)), rows.map((f) => f.receipt.providerTxnId)],
  );
  const costOf = new Map(billed.map((row) => [row.id, row]));
  for (const { ref, receipt } of rows)
    await openReview(sql, {
      kind: 'billed_after_close',
      subject: `message ${ref.id}`,
      routeId,
      message: ref,
      once: true,
      evidence: {
        state: ref.state,
        status: receipt.status,
        provider_txn_id: receipt.providerTxnId,
        cost: costOf.get(ref.id)?.cost ?? null,
        currency: costOf.get(ref.id)?.currency ?? null,
        ...(costOf.has(ref.id) ? {} : { remedy: 'it was never quoted: book what it cost as an adjustment' }),
      },
    });
  return billed.length;
}
