import type { RowRef } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

/** Everything the ledger knows about one message, in the order it happened. Text and parameters are left out. */
export interface MessageStory {
  readonly message: Readonly<Record<string, unknown>>;
  readonly submission: Readonly<Record<string, unknown>> | null;
  readonly receipts: readonly Readonly<Record<string, unknown>>[];
  readonly reviews: readonly Readonly<Record<string, unknown>>[];
  /** Refunds and corrections of its cost; the cost itself stays as it was charged. */
  readonly adjustments: readonly Readonly<Record<string, unknown>>[];
  /** What persons did with it. */
  readonly decisions: readonly Readonly<Record<string, unknown>>[];
}

/** Our id, a recipient, the provider's id of a message or of a request: each by its index, whatever the size of the ledger. */
export const FIND_BY_INDEX = `select f.id, f.created_at from (
    select m.id, m.created_at from sendledger.outbound_message m where m.id = $2::bigint
    union
    (select m.id, m.created_at from sendledger.outbound_message m where m.recipient = $1 order by m.created_at desc limit 20)
    union
    select p.message_id, p.message_created_at from sendledger.provider_message p
    where p.provider_message_id = $1 and p.account in (select r.provider || '/' || r.account from sendledger.route r)
    union
    (select m.id, m.created_at from sendledger.submission s
     join sendledger.outbound_message m on m.submission_id = s.id and m.submission_created_at = s.created_at
       and m.state in ('claimed', 'submitted', 'unknown')
     where s.provider_txn_id = $1 limit 20)
  ) f order by f.created_at desc, f.id desc limit 20`;

/** An attempt key, a business key or an event id has no index of its own: this reads the months, and is asked last. */
const FIND_BY_READING = `select m.id, m.created_at from sendledger.outbound_message m
  where m.attempt_key = $2::uuid or m.business_key = $1 or m.event_id = $1 or m.provider_txn_id = $1
  order by m.created_at desc, m.id desc limit 20`;

/**
 * Finds messages by whatever a person has in hand: our id, a recipient, a provider's transaction or message id, else the
 * attempt key, the business key or an event id. At most 20, the newest first.
 */
export async function findMessages(sql: Sql, wanted: string): Promise<RowRef[]> {
  const id = /^[0-9]{1,18}$/.test(wanted) ? wanted : null;
  const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(wanted) ? wanted : null;
  type Found = { id: string; created_at: Date };
  const indexed = await rowsOf<Found>(sql, FIND_BY_INDEX, [wanted, id]);
  const rows = indexed.length > 0 ? indexed : await rowsOf<Found>(sql, FIND_BY_READING, [wanted, uuid]);
  return rows.map((row) => ({ id: row.id, createdAt: row.created_at }));
}

export async function messageStory(sql: Sql, ref: RowRef): Promise<MessageStory | null> {
  const [message] = await rowsOf<Record<string, unknown>>(
    sql,
    `select m.id, m.created_at, m.tenant_id, m.business_key, m.attempt_key, m.event_type, m.event_id, m.channel, m.message_class,
       m.recipient, m.sender_id, r.name as route, m.encoding, m.segments, m.template_id, m.template_version, m.state, m.state_reason,
       m.attempt_count, m.scheduled_for, m.due_at, m.submit_by, m.claimed_at, m.requested_at, m.submitted_at, m.receipt_by,
       m.delivered_at, m.reconciled_at, m.quoted_units, m.quoted_cost::text, m.quoted_currency, m.billable_units, m.cost::text,
       m.cost_currency, m.cost_source, m.provider_txn_id, m.provider_message_id, m.provider_status_code, m.provider_cause,
       m.conflict, m.submission_id, m.submission_created_at, m.replaces_id,
       (select s.id from sendledger.outbound_message s where s.replaces_id = m.id limit 1) as replaced_by
     from sendledger.outbound_message m join sendledger.route r on r.id = m.route_id
     where m.id = $1 and m.created_at = $2`,
    [ref.id, ref.createdAt],
  );
  if (message === undefined) return null;
  const [submission] = await rowsOf<Record<string, unknown>>(
    sql,
    `select s.id, s.created_at, s.state, s.size, s.epoch_no, s.not_after, s.lease_until, s.claimed_by, s.marked_by, s.requested_at,
       s.responded_at, s.outcome_reason, s.outcome_proof, s.provider_txn_id, s.provider_status_code, s.http_status,
       encode(s.raw_reply, 'escape') as raw_reply, s.polls, s.poll_at
     from sendledger.submission s where s.id = $1 and s.created_at = $2`,
    [message.submission_id, message.submission_created_at],
  );
  const receipts = await rowsOf<Record<string, unknown>>(
    sql,
    `select d.received_at, d.source, d.status_word, d.status, d.cause, d.provider_message_id, d.provider_delivered_at, d.applied_at,
       d.conflict, d.evidence
     from sendledger.delivery_receipt d where d.message_id = $1 order by d.received_at, d.id`,
    [ref.id],
  );
  const reviews = await rowsOf<Record<string, unknown>>(
    sql,
    `select v.id, v.kind, v.subject, v.opened_at, v.resolved_at, v.resolution, v.evidence from sendledger.review_item v
     where v.message_id = $1 or (v.submission_id = $2 and v.submission_id is not null)
       or v.evidence->'messages' @> jsonb_build_array(jsonb_build_object('id', $1::bigint::text)) order by v.id`,
    [ref.id, message.submission_id],
  );
  const adjustments = await rowsOf<Record<string, unknown>>(
    sql,
    `select a.created_at, a.kind, a.amount::text, a.currency, a.evidence as reference, a.created_by from sendledger.charge_adjustment a
     where a.message_id = $1 order by a.id`,
    [ref.id],
  );
  const decisions = await rowsOf<Record<string, unknown>>(
    sql,
    `select l.at, l.who, l.action, l.why, l.details->>'answer' as answer, l.details->>'successor' as successor
     from sendledger.audit_log l where l.message_id = $1 order by l.id`,
    [ref.id],
  );
  return { message, submission: submission ?? null, receipts, reviews, adjustments, decisions };
}
