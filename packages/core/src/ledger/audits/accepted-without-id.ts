import type { Sql } from '../sql.ts';
import { type AuditResult, openFindings } from './open-findings.ts';

/**
 * Requests that a provider accepted without naming them, over an hour ago: their report cannot be read, so they end without a
 * receipt. Found by their messages, as long as those wait: the partial index on waiting messages without a transaction is
 * short, and there is none on requests by their time. Seven days back. What a person called sent has no id by nature.
 *
 * @param withoutIds providers that never give one
 */
export async function auditAcceptedWithoutId(
  sql: Sql,
  limit: number,
  withoutIds: readonly string[] = [],
): Promise<AuditResult> {
  return openFindings(sql, {
    kind: 'accepted_without_id',
    limit,
    values: [withoutIds],
    findings: `select 'submission ' || s.id as subject, s.route_id, null::bigint as message_id, null::timestamptz as message_created_at,
        s.id as submission_id, s.created_at as submission_created_at, 1 as weight, s.requested_at as since,
        jsonb_build_object('route', r.name, 'provider', r.provider, 'recipients', s.size, 'requested_at', s.requested_at, 'reason', s.outcome_reason,
          'remedy', 'ask the provider for this request by time, sender and recipient; without an id no receipt will find it') as evidence
      from sendledger.submission s join sendledger.route r on r.id = s.route_id
      -- By their ids, and not joined: a join would read the requests of a whole month.
      where s.id = any (array(
          select distinct m.submission_id from sendledger.outbound_message m
          where m.provider_txn_id is null and m.state = 'submitted' and m.created_at > now() - interval '7 days'
            and m.submitted_at < now() - interval '1 hour' and m.provider <> all ($5::text[])))
        and s.created_at > now() - interval '7 days' and s.state::text = 'accepted' and s.provider_txn_id is null
        and s.outcome_reason is distinct from 'review_sent'`,
  });
}
