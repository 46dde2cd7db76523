import type { Sql } from '../sql.ts';
import { type AuditResult, openFindings } from './open-findings.ts';

const LIVE = (states: string) =>
  `select m.id, m.created_at, m.route_id, m.tenant_id, m.business_key, m.state::text as state, m.replaces_id from sendledger.outbound_message m
   where m.state in (${states}) and m.created_at > now() - interval '8 days'`;

/**
 * Several live messages on one business key: the key table makes that impossible, so one that is found says that a guard was
 * gone round. Live rows alone are read, through the two partial indexes that hold them, eight days back. One item a key.
 */
export async function auditLiveDuplicates(sql: Sql, limit: number): Promise<AuditResult> {
  return openFindings(sql, {
    kind: 'live_duplicates',
    limit,
    findings: `select 'tenant ' || d.tenant_id || ' key ' || d.business_key as subject, min(d.route_id) as route_id, min(d.id) as message_id,
        (array_agg(d.created_at order by d.id))[1] as message_created_at, null::bigint as submission_id,
        null::timestamptz as submission_created_at, 1 as weight, min(d.created_at) as since,
        jsonb_build_object('rows', jsonb_agg(jsonb_build_object('id', d.id::text, 'created_at', d.created_at, 'state', d.state,
          'replaces_id', d.replaces_id::text) order by d.id),
          'remedy', 'cancel what still waits of all but one; then find out who wrote past the ledger') as evidence
      from (${LIVE(`'pending', 'retry'`)} union all ${LIVE(`'claimed', 'submitted', 'unknown'`)}) d
      -- Followed by a step that its sender accepts beside it.
      where not (d.state = 'submitted' and exists (select from sendledger.fallback f
        where f.tenant_id = d.tenant_id and f.business_key = d.business_key and f.after is not null and f.taken_at is not null)
        and exists (select from sendledger.outbound_message n where n.replaces_id = d.id))
      group by d.tenant_id, d.business_key having count(*) > 1`,
  });
}
