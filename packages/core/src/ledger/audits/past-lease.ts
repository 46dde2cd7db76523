import type { Sql } from '../sql.ts';
import { type AuditResult, closeGone, openFindings } from './open-findings.ts';

const KIND = 'past_lease';

/** By one of the partial indexes of what is on the way, which are as short as the bounds of the routes. */
const PAST = (state: 'open' | 'marked') =>
  `select s.route_id, s.lease_until from sendledger.submission s
   where s.state = '${state}' and s.lease_until < now() - interval '1 minute'`;

/**
 * Requests stuck beyond their lease: claimed or marked, and their lease over for more than a minute. A sweep takes seconds, so
 * nobody sweeps. One item a route, closed again when the route is clear.
 */
export async function auditPastLease(sql: Sql, limit: number): Promise<AuditResult> {
  const result = await openFindings(sql, {
    kind: KIND,
    limit,
    comesAgain: true,
    findings: `select 'route ' || p.route_id as subject, p.route_id, null::bigint as message_id, null::timestamptz as message_created_at,
        null::bigint as submission_id, null::timestamptz as submission_created_at, count(*) as weight, min(p.lease_until) as since,
        jsonb_build_object('submissions', count(*), 'oldest_lease_until', min(p.lease_until),
          'remedy', 'see why no reconcile process sweeps: is one alive, and does it reach the database') as evidence
      from (${PAST('open')} union all ${PAST('marked')}) p group by p.route_id`,
  });
  await closeGone(
    sql,
    KIND,
    `v.route_id not in (select p.route_id from (${PAST('open')} union all ${PAST('marked')}) p)`,
  );
  return result;
}
