import type { Sql } from '../sql.ts';
import { type AuditResult, openFindings } from './open-findings.ts';

/** A request that a provider holds for later. */
export interface HeldSchedule {
  readonly providerTxnId: string;
  /** Null: the provider named no time that could be read. */
  readonly scheduledFor: Date | null;
}

const NO_MESSAGE = 'null::bigint as message_id, null::timestamptz as message_created_at';

/**
 * What a provider holds for later against what we know. Held and not ours: a request of this account that the ledger does not
 * have will be sent and billed. Ours and not held: a message it accepted for later than in five minutes, and whose request it
 * does not name, will not be sent. One item a request, each way.
 *
 * Requests are found by their transaction id, and messages through the partial index of what is on its way.
 *
 * @param account `provider/account`
 * @param complete false where the provider's answer could not be read whole: then nothing is said to be missing
 */
export async function auditSchedules(
  sql: Sql,
  account: string,
  held: readonly HeldSchedule[],
  options: { readonly limit: number; readonly complete: boolean } = { limit: 100, complete: true },
): Promise<AuditResult> {
  const strangers = await openFindings(sql, {
    kind: 'schedule_not_ours',
    limit: options.limit,
    values: [account, held.map((one) => one.providerTxnId), held.map((one) => one.scheduledFor)],
    findings: `select $5 || ' ' || h.txn as subject, null::bigint as route_id, ${NO_MESSAGE}, null::bigint as submission_id,
        null::timestamptz as submission_created_at, 1 as weight, h.at as since,
        jsonb_build_object('account', $5::text, 'provider_txn_id', h.txn, 'scheduled_for', h.at,
          'remedy', 'find out who scheduled it; cancel it at the provider if nobody did') as evidence
      from (select u.txn, min(u.at) as at from unnest($6::text[], $7::timestamptz[]) as u(txn, at) group by 1) h
      where h.txn <> all (array(
        select s.provider_txn_id::text from sendledger.submission s
        where s.provider_txn_id = any ($6::text[])
          and s.route_id in (select r.id from sendledger.route r where r.provider || '/' || r.account = $5)))`,
  });
  if (!options.complete) return strangers;
  const missing = await openFindings(sql, {
    kind: 'schedule_missing',
    limit: options.limit,
    values: [account, held.map((one) => one.providerTxnId)],
    findings: `select 'submission ' || m.submission_id as subject, min(m.route_id) as route_id, ${NO_MESSAGE}, m.submission_id,
        m.submission_created_at, count(*) as weight, min(m.scheduled_for) as since,
        jsonb_build_object('account', $5::text, 'provider_txn_id', min(m.provider_txn_id::text), 'scheduled_for', min(m.scheduled_for),
          'recipients', count(*), 'remedy', 'ask the provider whether it was sent early, cancelled or lost') as evidence
      from sendledger.outbound_message m
      where m.state = 'submitted' and m.submission_id is not null and m.scheduled_for > now() + interval '5 minutes'
        and m.provider_txn_id::text <> all ($6::text[])
        and m.route_id in (select r.id from sendledger.route r where r.provider || '/' || r.account = $5)
      group by m.submission_id, m.submission_created_at`,
  });
  return { findings: strangers.findings + missing.findings, opened: strangers.opened + missing.opened };
}
