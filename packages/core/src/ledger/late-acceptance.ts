import type { SubmissionOutcome } from './apply-outcome.ts';
import { rowKeys } from './identity.ts';
import { recordReceipts } from './record-receipts.ts';
import { inChunks } from './row-values.ts';
import { rowsOf, type Sql } from './sql.ts';

/**
 * What a reply says that comes too late to be the outcome of its request, and that nobody else knows: the transaction, by which
 * receipts and reports are found; and that rows were accepted which are still unknown, or were closed as not sent meanwhile (by
 * proof that was none, or by a person). The same outcome twice is none of this. The submissions are locked by the caller.
 */
export async function keepLateEvidence(sql: Sql, late: readonly SubmissionOutcome[]): Promise<void> {
  await keepTransactions(
    sql,
    late.filter((o) => o.providerTxnId !== null),
  );
  await keepAcceptance(
    sql,
    late.filter((o) => o.state === 'accepted'),
  );
}

async function keepTransactions(sql: Sql, named: readonly SubmissionOutcome[]): Promise<void> {
  if (named.length === 0) return;
  await sql.query(
    `update sendledger.submission s set provider_txn_id = ($5::text[])[array_position($1::bigint[], s.id)]
     where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3
       and s.lease_token = ($4::uuid[])[array_position($1::bigint[], s.id)] and s.provider_txn_id is null`,
    [...rowKeys(named), named.map((o) => o.leaseToken), named.map((o) => o.providerTxnId)],
  );
}

/**
 * Kept as a receipt of each row that the acceptance has not reached. The receipts' own path applies it, so that the money is
 * right and a person sees the contradiction.
 */
async function keepAcceptance(sql: Sql, accepted: readonly SubmissionOutcome[]): Promise<void> {
  if (accepted.length === 0) return;
  const settled = await rowsOf<{ id: string; routeId: string; provider: string; account: string }>(
    sql,
    `select s.id, s.route_id as "routeId", r.provider, r.account from sendledger.submission s
     join sendledger.route r on r.id = s.route_id
     where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3
       and s.lease_token = ($4::uuid[])[array_position($1::bigint[], s.id)]
       and s.state::text in ('not_sent', 'refused', 'accepted')`,
    [...rowKeys(accepted), accepted.map((o) => o.leaseToken)],
  );
  const originOf = new Map(settled.map((row) => [row.id, row]));
  const unpaid = await unpaidOf(sql, accepted);
  for (const outcome of accepted) {
    const origin = originOf.get(outcome.id);
    if (origin === undefined) continue;
    await recordReceipts(
      sql,
      { routeId: origin.routeId, provider: origin.provider, account: origin.account, source: 'reply' },
      outcome.rows
        .filter((row) => row.to === 'submitted' && unpaid.has(row.id))
        .map((row) => ({
          providerTxnId: outcome.providerTxnId,
          providerMessageId: null,
          recipient: null,
          senderId: null,
          statusWord: 'accepted',
          status: 'open' as const,
          cause: row.cause,
          causeClass: null,
          submittedAt: null,
          deliveredAt: null,
          evidence: {
            submission: outcome.id,
            http_status: outcome.httpStatus === null ? null : `${outcome.httpStatus}`,
          },
          message: { id: row.id, createdAt: row.createdAt },
        })),
    );
  }
}

async function unpaidOf(sql: Sql, outcomes: readonly SubmissionOutcome[]): Promise<ReadonlySet<string>> {
  const unpaid = new Set<string>();
  for (const rows of inChunks(outcomes.flatMap((o) => o.rows))) {
    const found = await rowsOf<{ id: string }>(
      sql,
      `select m.id from sendledger.outbound_message m
       where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.cost is null
         and m.state::text in ('unknown', 'failed', 'rejected', 'expired', 'cancelled')
         and m.submission_id = any ($4::bigint[])`,
      [...rowKeys(rows), outcomes.map((o) => o.id)],
    );
    for (const { id } of found) unpaid.add(id);
  }
  return unpaid;
}
