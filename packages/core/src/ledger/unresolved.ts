import type { MessageState } from '../domain/state.ts';
import { type RowRef, rowKeys } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

/**
 * A row whose fate only the provider's report can tell: unknown, accepted without any id, or `failed` because it was called absent,
 * which a record that comes later would show to be wrong.
 */
export interface UnresolvedRow extends RowRef {
  readonly routeId: string;
  readonly attemptKey: string;
  readonly state: 'unknown' | 'submitted' | 'failed';
  readonly recipient: string;
  readonly senderId: string | null;
  readonly messageClass: string;
  readonly requestedAt: Date;
  /** The later of mark and schedule, from which the settling time counts. */
  readonly settlesFrom: Date;
  readonly settleMs: number;
  /** The provider was to hold it until then; null: it was to send it at once. */
  readonly heldUntil: Date | null;
  readonly submission: RowRef;
  /** When its request had ended without a reply, or its lease had: from then on the provider has it, or never will. */
  readonly endedAt: Date;
  /** The worker that marked has said that it holds no request that old, or has ended, or was not seen for an hour. */
  readonly senderIsDone: boolean;
  /** Our reply, unclear as it was, named a transaction. */
  readonly transactionNamed: boolean;
  /** By the database's clock, which is also the one of the mark, and before anything was asked. */
  readonly askedAt: Date;
}

/** Of these submissions, the rows that are still to be resolved. */
export async function unresolvedRows(sql: Sql, submissions: readonly RowRef[]): Promise<UnresolvedRow[]> {
  if (submissions.length === 0) return [];
  const rows = await rowsOf<Omit<UnresolvedRow, 'submission'> & { submissionId: string; submissionCreatedAt: Date }>(
    sql,
    `select m.id, m.created_at as "createdAt", m.route_id as "routeId", m.attempt_key as "attemptKey", m.state, m.recipient,
       m.sender_id as "senderId", m.message_class as "messageClass", s.requested_at as "requestedAt",
       greatest(s.requested_at, m.scheduled_for) as "settlesFrom",
       case when m.held_by = 'provider' and m.scheduled_for > s.requested_at then m.scheduled_for end as "heldUntil",
       (select extract(epoch from l.settle_within) * 1000 from sendledger.lane l
         where l.route_id = m.route_id and l.message_class = m.message_class)::double precision as "settleMs",
       s.id as "submissionId", s.created_at as "submissionCreatedAt",
       coalesce((select w.ended_at is not null or w.last_seen_at < now() - interval '1 hour'
           or coalesce(w.holds_said_at > s.lease_until and (w.holds_from is null or w.holds_from > s.requested_at), false)
         from sendledger.worker w where w.id = s.marked_by), true) as "senderIsDone",
       coalesce(s.responded_at, s.lease_until) as "endedAt",
       s.provider_txn_id is not null and s.state = 'ambiguous' as "transactionNamed", clock_timestamp() as "askedAt"
     from sendledger.submission s
     join sendledger.outbound_message m on m.submission_id = s.id
     where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3 and s.requested_at is not null
       and m.submission_id = any ($1::bigint[]) and m.state in ('submitted', 'unknown')
       and (m.state = 'unknown' or (s.provider_txn_id is null and m.provider_message_id is null))
     order by m.id`,
    rowKeys(submissions),
  );
  return rows.map(({ submissionId, submissionCreatedAt, ...row }) => ({
    ...row,
    submission: { id: submissionId, createdAt: submissionCreatedAt },
  }));
}

/** A message of ours that was requested from an account, as the resolver sees it. */
export interface RequestedMessage extends RowRef {
  readonly state: MessageState;
  readonly recipient: string;
  readonly senderId: string | null;
  readonly requestedAt: Date;
  /** The provider was to hold it until then. */
  readonly heldUntil: Date | null;
  readonly providerTxnId: string | null;
  readonly providerMessageId: string | null;
}

/**
 * Every row of these recipients at an account whose submission carries a mark, in any state, what is still claimed included.
 * Read after the last page of the report has come, so that nothing in it is newer than what is compared with it.
 */
export async function requestedMessages(
  sql: Sql,
  account: { readonly provider: string; readonly account: string },
  recipients: readonly string[],
  from: Date,
  to: Date,
): Promise<RequestedMessage[]> {
  const rows = await rowsOf<
    Omit<RequestedMessage, 'requestedAt'> & { submissionId: string; submissionCreatedAt: Date }
  >(
    sql,
    `select m.id, m.created_at as "createdAt", m.state::text as state, m.recipient, m.sender_id as "senderId",
       m.provider_txn_id as "providerTxnId", m.provider_message_id as "providerMessageId",
       case when m.held_by = 'provider' then m.scheduled_for end as "heldUntil",
       m.submission_id as "submissionId", m.submission_created_at as "submissionCreatedAt"
     from sendledger.outbound_message m
     where m.recipient = any ($1::text[]) and m.created_at <= $2 and m.submission_id is not null
       and m.route_id in (select r.id from sendledger.route r where r.provider = $3 and r.account = $4)
     order by m.id`,
    [recipients, to, account.provider, account.account],
  );
  // By their whole keys, and not joined: a join reads the submissions of all months.
  const submissions = await rowsOf<{ id: string; requestedAt: Date; providerTxnId: string | null }>(
    sql,
    `select s.id, s.requested_at as "requestedAt", s.provider_txn_id as "providerTxnId" from sendledger.submission s
     where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3 and s.requested_at <= $5
       -- What a provider held until then may have its record then.
       and (s.requested_at >= $4 or s.id = any ($6::bigint[]))`,
    [
      ...rowKeys(rows.map((row) => ({ id: row.submissionId, createdAt: row.submissionCreatedAt }))),
      from,
      to,
      rows.filter((row) => row.heldUntil !== null && row.heldUntil >= from).map((row) => row.submissionId),
    ],
  );
  const marks = new Map(submissions.map((s) => [s.id, s]));
  return rows.flatMap(({ submissionId, submissionCreatedAt: _, ...row }) => {
    const mark = marks.get(submissionId);
    if (mark === undefined) return [];
    return [{ ...row, requestedAt: mark.requestedAt, providerTxnId: row.providerTxnId ?? mark.providerTxnId }];
  });
}

/** A message that the provider's own reply said was accepted. */
export interface KnownAccepted {
  readonly recipient: string;
  readonly requestedAt: Date;
  readonly providerTxnId: string;
  readonly providerMessageId: string | null;
}

/** Most messages are requested within a day of their enqueue; those that waited longer are not counted among the known. */
const LONGEST_WAIT_MS = 86_400_000;

/** More than this are not compared, and then nothing is proven. */
export const MOST_KNOWN = 100_000;

/**
 * What we know was accepted by an account in a span of time, by its own replies and not by a match of ours. The span stands in
 * the text: a plan for any span would not use the index that knows where a span lies. So `sql` must not keep statements by name.
 */
export async function knownAccepted(
  sql: Sql,
  account: { readonly provider: string; readonly account: string },
  from: Date,
  to: Date,
): Promise<KnownAccepted[]> {
  return rowsOf<KnownAccepted>(
    sql,
    `select m.recipient, m.requested_at as "requestedAt", m.provider_txn_id as "providerTxnId", m.provider_message_id as "providerMessageId"
     from sendledger.outbound_message m
     where m.created_at >= '${new Date(from.getTime() - LONGEST_WAIT_MS).toISOString()}' and m.created_at <= '${to.toISOString()}'
       and m.requested_at >= '${from.toISOString()}' and m.requested_at <= '${to.toISOString()}'
       and m.state in ('submitted', 'delivered', 'failed', 'expired') and m.cost_source = 'quote'
       and m.provider_txn_id is not null and m.correlation_result is null
       -- What a provider holds stands in the report of the day for which it is held, and where it was cancelled there in none.
       and m.held_by = 'us'
       and m.route_id in (select r.id from sendledger.route r where r.provider = $1 and r.account = $2)
     limit ${MOST_KNOWN}`,
    [account.provider, account.account],
  );
}

/** Which of these ids of the provider belong to messages of ours. */
export async function ownedIds(
  sql: Sql,
  account: { readonly provider: string; readonly account: string },
  ids: { readonly messageIds: readonly string[]; readonly txnIds: readonly string[] },
): Promise<{ readonly messageIds: ReadonlySet<string>; readonly txnIds: ReadonlySet<string> }> {
  const messages = await rowsOf<{ id: string }>(
    sql,
    `select p.provider_message_id as id from sendledger.provider_message p
     where p.account = $1 and p.provider_message_id = any ($2::text[]) and p.era = 0`,
    [`${account.provider}/${account.account}`, ids.messageIds],
  );
  const submissions = await rowsOf<{ id: string }>(
    sql,
    `select distinct s.provider_txn_id as id from sendledger.submission s join sendledger.route r on r.id = s.route_id
     where s.provider_txn_id = any ($1::text[]) and r.provider = $2 and r.account = $3`,
    [ids.txnIds, account.provider, account.account],
  );
  return { messageIds: new Set(messages.map((row) => row.id)), txnIds: new Set(submissions.map((row) => row.id)) };
}

/** How many receipts of each recipient came since a time and match nothing yet. */
export async function waitingReceiptsOf(
  sql: Sql,
  recipients: readonly string[],
  since: Date,
): Promise<ReadonlyMap<string, number>> {
  if (recipients.length === 0) return new Map();
  const rows = await rowsOf<{ recipient: string; waiting: number }>(
    sql,
    `select r.recipient, count(*)::integer as waiting from sendledger.delivery_receipt r
     where r.applied_at is null and r.recipient = any ($1::text[]) and r.received_at >= $2 group by 1`,
    [recipients, since],
  );
  return new Map(rows.map((row) => [row.recipient, row.waiting]));
}

/** Writes what the resolver found on rows that it does not move, or has just moved. */
export async function noteCorrelation(
  sql: Sql,
  rows: readonly RowRef[],
  result: 'matched' | 'not_found' | 'ambiguous',
  windowMs: number,
): Promise<void> {
  if (rows.length === 0) return;
  await sql.query(
    `update sendledger.outbound_message m
     set correlation_result = $4::sendledger.correlation_result, correlation_window_ms = $5::integer, updated_at = now()
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3
       and m.state::text in ('unknown', 'submitted', 'delivered', 'failed')
       and (m.correlation_result is distinct from $4::sendledger.correlation_result or m.correlation_window_ms is distinct from $5::integer)`,
    [...rowKeys(rows), result, windowMs],
  );
}

/** Submissions of rows to these recipients that wait for an id or for their fate, at the account of a route. */
export async function unresolvedSubmissionsOf(
  sql: Sql,
  routeId: string,
  recipients: readonly string[],
): Promise<RowRef[]> {
  if (recipients.length === 0) return [];
  return rowsOf<RowRef>(
    sql,
    `select distinct m.submission_id as id, m.submission_created_at as "createdAt" from sendledger.outbound_message m
     where m.recipient = any ($2::text[]) and m.provider_txn_id is null and m.state in ('unknown', 'submitted')
       and m.route_id in (select r.id from sendledger.route r join sendledger.route o on o.provider = r.provider and o.account = r.account
         where o.id = $1)`,
    [routeId, recipients],
  );
}
