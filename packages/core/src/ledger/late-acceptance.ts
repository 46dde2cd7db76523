import type { SubmissionOutcome } from './apply-outcome.ts';
import { rowKeys } from './identity.ts';
import { recordReceipts } from './record-receipts.ts';
import { rowsOf, type Sql } from './sql.ts';

/**
 * A reply that says `accepted` for a request that was settled as not sent or refused meanwhile (by proof that was none, or by
 * a person). It is evidence that nobody else has: kept as a receipt of each of its rows, which the receipts' own path applies,
 * so that the money is right and a person sees the contradiction. The same outcome twice is none of this.
 */
export async function keepLateAcceptance(sql: Sql, stale: readonly SubmissionOutcome[]): Promise<void> {
  const accepted = stale.filter((o) => o.state === 'accepted');
  if (accepted.length === 0) return;
  const settled = await rowsOf<{ id: string; routeId: string; provider: string; account: string }>(
    sql,
    `select s.id, s.route_id as "routeId", r.provider, r.account from sendledger.submission s
     join sendledger.route r on r.id = s.route_id
     where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3
       and s.lease_token = ($4::uuid[])[array_position($1::bigint[], s.id)] and s.state::text in ('not_sent', 'refused')`,
    [...rowKeys(accepted), accepted.map((o) => o.leaseToken)],
  );
  const originOf = new Map(settled.map((row) => [row.id, row]));
  for (const outcome of accepted) {
    const origin = originOf.get(outcome.id);
    if (origin === undefined) continue;
    await recordReceipts(
      sql,
      { routeId: origin.routeId, provider: origin.provider, account: origin.account, source: 'reply' },
      outcome.rows
        .filter((row) => row.to === 'submitted')
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
