import type { Sql } from '../sql.ts';
import { type AuditResult, closeGone, openFindings } from './open-findings.ts';

const KIND = 'no_final_state';

const COLUMNS = 'm.id, m.created_at, m.route_id, m.state::text as state';

/**
 * Messages without a final state past the expected window: submitted, and `receipt_by` over for more than an hour, so that
 * nobody reads their report to its end; or unknown for more than a day. Each through its partial index, which holds what is
 * still on its way and no history. One item a message, unless a question about it is open already; closed when it is final.
 */
export async function auditNoFinalState(sql: Sql, limit: number): Promise<AuditResult> {
  const result = await openFindings(sql, {
    kind: KIND,
    limit,
    unlessAsked: true,
    findings: `select 'message ' || x.id as subject, x.route_id, x.id as message_id, x.created_at as message_created_at,
        null::bigint as submission_id, null::timestamptz as submission_created_at, 1 as weight, x.since,
        jsonb_build_object('state', x.state, 'since', x.since, 'remedy', case x.state
          when 'unknown' then 'find out from the provider whether it was sent, then resolve this as sent or not_sent'
          else 'see whether reports are read: the reconcile process, its account, and the provider' end) as evidence
      from (
        select ${COLUMNS}, m.receipt_by as since from sendledger.outbound_message m
        where m.state = 'submitted' and m.submission_id is not null and m.receipt_by < now() - interval '1 hour'
        union all
        select ${COLUMNS}, m.requested_at from sendledger.outbound_message m
        where m.state = 'unknown' and m.requested_at < now() - interval '1 day'
        union all
        -- Of an import, whose time of request nobody knows.
        select ${COLUMNS}, m.created_at from sendledger.outbound_message m
        where m.state = 'unknown' and m.requested_at is null and m.created_at < now() - interval '1 day'
      ) x`,
  });
  await closeGone(
    sql,
    KIND,
    `exists (select from sendledger.outbound_message m where m.id = v.message_id and m.created_at = v.message_created_at
       and m.state::text not in ('submitted', 'unknown'))`,
  );
  return result;
}
