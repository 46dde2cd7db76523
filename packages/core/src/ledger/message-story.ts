import type { RowRef } from './identity.ts';
import { type ChainLink, messageChain } from './message-chain.ts';
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
  /** What was cancelled and names it: itself, its key, its event, its campaign, or what its tenant had waiting. */
  readonly cancellations: readonly Readonly<Record<string, unknown>>[];
  /** The message and those it replaces and is replaced by, the oldest first; at least itself. */
  readonly chain: readonly ChainLink[];
}

export async function messageStory(sql: Sql, ref: RowRef): Promise<MessageStory | null> {
  const [message] = await rowsOf<Record<string, unknown>>(
    sql,
    `select m.id, m.created_at, m.tenant_id, m.business_key, m.attempt_key, m.event_type, m.event_id, m.channel, m.message_class,
       m.recipient, m.sender_id, m.campaign_id, r.name as route, m.encoding, m.segments, m.template_id, m.template_version, m.state, m.state_reason,
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
    `select v.id, v.kind, v.subject, v.opened_at, v.resolved_at, v.resolved_by, v.resolution, v.note, v.evidence from sendledger.review_item v
     where v.id in (
       select a.id from sendledger.review_item a where a.message_id = $1
       union all select b.id from sendledger.review_item b where b.submission_id = $2
       union all select c.id from sendledger.review_item c
         where c.evidence->'messages' @> jsonb_build_array(jsonb_build_object('id', $1::bigint::text)))
     order by v.id`,
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
  const cancellations = await rowsOf<Record<string, unknown>>(
    sql,
    `select c.id, c.kind, c.created_at, c.requested_by, c.reason, c.covers_until from (
       select x.* from sendledger.cancellation x where x.kind = 'message' and x.message_id = $1
       union all
       select x.* from sendledger.cancellation x where x.kind = 'key' and x.tenant_id = $2 and x.business_key = $3
       union all
       select x.* from sendledger.cancellation x where x.kind = 'event' and x.tenant_id = $2 and x.event_id = $5 and x.event_type = $4
       union all
       select x.* from sendledger.cancellation x where x.kind = 'campaign' and x.tenant_id = $2 and x.campaign_id = $6
       union all
       select x.* from sendledger.cancellation x where x.kind = 'tenant' and x.tenant_id = $2 and x.covers_until >= $7
         and (x.message_class is null or x.message_class = $8::sendledger.message_class)
     ) c where c.covers_until is null or c.covers_until >= $7 order by c.id`,
    [
      ref.id,
      message.tenant_id,
      message.business_key,
      message.event_type,
      message.event_id,
      message.campaign_id,
      message.created_at,
      message.message_class,
    ],
  );
  return {
    message,
    submission: submission ?? null,
    receipts,
    reviews,
    adjustments,
    decisions,
    cancellations,
    chain: await messageChain(sql, ref),
  };
}

/** The text that was sent; null for a one-time password, which is not read for anybody. */
export async function messageText(sql: Sql, ref: RowRef): Promise<string | null> {
  const [row] = await rowsOf<{ body: string | null }>(
    sql,
    `select case when m.message_class <> 'otp' then m.body end as body from sendledger.outbound_message m
     where m.id = $1 and m.created_at = $2`,
    [ref.id, ref.createdAt],
  );
  return row?.body ?? null;
}
