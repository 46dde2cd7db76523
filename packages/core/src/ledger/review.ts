import { needNameAndReason, writeAuditLog } from './audit-log.ts';
import { type MovedRow, type RowRef, rowKeys } from './identity.ts';
import { lockSubmissionsOf } from './lock-submissions.ts';
import { type ReplayAnswer, replay } from './replay.ts';
import { lockMessages, messagesOf, type ReviewedMessage, type ReviewSubject } from './review-messages.ts';
import { settleAsNotSent, settleAsSent } from './settle-unknown.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';

/** `sent` and `not_sent` settle the item's unknown messages; `leave` closes the item and touches no message. */
export type Resolution = 'sent' | 'not_sent' | 'leave';

export interface ResolveRequest {
  readonly id: string;
  readonly as: Resolution;
  readonly by: string;
  readonly why: string;
  /** Only with `not_sent`: send again what was unknown. A person's replay, with this name and reason. */
  readonly replay?: boolean;
}

export type ResolveAnswer =
  | {
      readonly answer: 'resolved';
      readonly moved: readonly MovedRow[];
      /** Messages of the item that were not unknown any more, and are as they were. */
      readonly left: readonly ReviewedMessage[];
      readonly replays: readonly ReplayAnswer[];
    }
  | { readonly answer: 'not_found' }
  | {
      readonly answer: 'already_resolved';
      readonly resolvedBy: string;
      readonly resolvedAt: Date;
      readonly resolution: string;
      readonly note: string;
    }
  /** It names no message, so there is nothing that could be called sent or not; `leave` is what can be said. */
  | { readonly answer: 'no_messages' }
  /** None of its messages is unknown any more: nothing is left to decide but `leave`. The item stays open. */
  | { readonly answer: 'nothing_unknown'; readonly left: readonly ReviewedMessage[] };

/** What is asked about messages only as long as they are unknown. */
export const QUESTIONS_OF_UNKNOWN: readonly string[] = [
  'correlation_ambiguous',
  'absence_not_proven',
  'no_report_to_ask',
  'no_final_state',
];

interface ItemRow extends ReviewSubject {
  readonly resolved_at: Date | null;
  readonly resolved_by: string | null;
  readonly resolution: string | null;
  readonly note: string | null;
}

/**
 * A person decides a review item, in one transaction (`durably`): the messages, the item and the audit log change together.
 * Locks are taken as everywhere, key, submission, messages, and the item after them all, as whoever settles by evidence does.
 * Of two persons at once one decides, and the other is told what was decided.
 *
 * @throws SendledgerError SENDLEDGER_REASON_NEEDED before anything is asked
 */
export async function resolveReview(sql: Sql, request: ResolveRequest): Promise<ResolveAnswer> {
  needNameAndReason(`The decision of review ${request.id}`, request.by, request.why);
  const item = await readItem(sql, request.id);
  if (item === null) return { answer: 'not_found' };
  if (item.resolved_at !== null) return decided(item);
  if (request.as === 'leave') return leave(sql, request, item);

  const rows = messagesOf(item);
  if (rows.length === 0) return { answer: 'no_messages' };
  const again = request.as === 'not_sent' && request.replay === true;
  if (again) await sql.query('select sendledger.lock_keys_of($1::bigint[], $2, $3)', rowKeys(rows));
  await lockSubmissionsOf(sql, rows);
  const now = await lockMessages(sql, rows);
  const held = await readItem(sql, request.id, 'for update');
  if (held !== null && held.resolved_at !== null) return decided(held);
  const left = now.filter((row) => row.state !== 'unknown');
  const open = now.filter((row) => row.state === 'unknown');
  if (open.length === 0) return { answer: 'nothing_unknown', left };

  const moved = await settle(sql, request, open);
  await close(sql, request);
  // Other items that ask about the same messages have their answer too; this one is closed already.
  await resolveReviewOf(sql, open, QUESTIONS_OF_UNKNOWN, `decided with review ${request.id}: ${request.why}`, {
    by: request.by,
    resolution: request.as,
  });
  await keep(sql, request, item, { messages: open.map((row) => row.id), left: left.map((row) => row.id) });
  const replays: ReplayAnswer[] = [];
  if (again)
    for (const message of open) replays.push(await replay(sql, { message, who: request.by, why: request.why }));
  return { answer: 'resolved', moved, left, replays };
}

async function leave(sql: Sql, request: ResolveRequest, item: ItemRow): Promise<ResolveAnswer> {
  if (!(await close(sql, request))) {
    const now = await readItem(sql, request.id);
    return now === null ? { answer: 'not_found' } : decided(now);
  }
  await keep(sql, request, item, {});
  return { answer: 'resolved', moved: [], left: [], replays: [] };
}

/** The word of a person is no proof of absence: what was not sent is sent again only if the person says that too. */
async function settle(sql: Sql, request: ResolveRequest, open: readonly RowRef[]): Promise<readonly MovedRow[]> {
  const none = { correlation: null, windowMs: null };
  if (request.as === 'sent') return settleAsSent(sql, open, { reason: 'review_sent', costSource: 'person', ...none });
  const proof = `the word of ${request.by}: ${request.why}`.slice(0, 500);
  return (await settleAsNotSent(sql, open, { reason: 'review_not_sent', proof, proven: false, ...none })).moved;
}

async function readItem(sql: Sql, id: string, lock: '' | 'for update' = ''): Promise<ItemRow | null> {
  const [row] = await rowsOf<ItemRow>(
    sql,
    `select v.message_id, v.message_created_at, v.evidence, v.resolved_at, v.resolved_by, v.resolution, v.note
     from sendledger.review_item v where v.id = $1 ${lock}`,
    [id],
  );
  return row ?? null;
}

/** Answers whether it was still open. */
async function close(sql: Sql, request: ResolveRequest): Promise<boolean> {
  const closed = await countOf(
    sql,
    `update sendledger.review_item set resolved_at = now(), resolved_by = $2, resolution = $3, note = $4
     where id = $1 and resolved_at is null`,
    [request.id, request.by, request.as, request.why],
  );
  return closed === 1;
}

async function keep(
  sql: Sql,
  request: ResolveRequest,
  item: ItemRow,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  await writeAuditLog(sql, {
    who: request.by,
    action: `review_${request.as}`,
    subject: `review ${request.id}`,
    message:
      item.message_id === null || item.message_created_at === null
        ? null
        : { id: item.message_id, createdAt: item.message_created_at },
    why: request.why,
    details,
  });
}

function decided(item: ItemRow): ResolveAnswer {
  return {
    answer: 'already_resolved',
    resolvedBy: item.resolved_by ?? '',
    resolvedAt: item.resolved_at ?? new Date(0),
    resolution: item.resolution ?? '',
    note: item.note ?? '',
  };
}

/**
 * Evidence, or a person with the decision of another item, has answered the question of open items of these kinds: those about one
 * of these messages, and those about a set in which no message is unknown any more. Called in the transaction that moved the
 * messages, after it moved them. Answers how many were closed.
 *
 * The items of sets are locked before their messages are read: of two transactions that move two messages of one set, the second
 * waits and sees what the first moved, or each would leave the item to the other.
 */
export async function resolveReviewOf(
  sql: Sql,
  messages: readonly RowRef[],
  kinds: readonly string[],
  note: string,
  how: { readonly by: string; readonly resolution: string } = { by: 'sendledger', resolution: 'settled_by_evidence' },
): Promise<number> {
  if (messages.length === 0 || kinds.length === 0) return 0;
  const ids = messages.map((message) => message.id);
  const single = await countOf(
    sql,
    `update sendledger.review_item v
     set resolved_at = now(), resolved_by = $4, resolution = $5, note = $3
     where v.resolved_at is null and v.message_id = any ($1::bigint[]) and v.kind = any ($2::text[]) and not v.evidence ? 'messages'`,
    [ids, kinds, note, how.by, how.resolution],
  );
  const sets = await rowsOf<ReviewSubject & { id: string }>(
    sql,
    `select v.id, v.message_id, v.message_created_at, v.evidence from sendledger.review_item v
     where v.resolved_at is null and v.kind = any ($2::text[]) and v.evidence ? 'messages'
       and exists (select from jsonb_array_elements(case jsonb_typeof(v.evidence->'messages') when 'array' then v.evidence->'messages' else '[]' end) e
         where e->>'id' = any ($1::text[]))
     order by v.id for update`,
    [ids, kinds],
  );
  const answered: string[] = [];
  for (const set of sets) if (!(await anyUnknown(sql, messagesOf(set)))) answered.push(set.id);
  if (answered.length === 0) return single;
  return (
    single +
    (await countOf(
      sql,
      `update sendledger.review_item v
       set resolved_at = now(), resolved_by = $3, resolution = $4, note = $2
       where v.id = any ($1::bigint[]) and v.resolved_at is null`,
      [answered, note, how.by, how.resolution],
    ))
  );
}

async function anyUnknown(sql: Sql, messages: readonly RowRef[]): Promise<boolean> {
  const rows = await rowsOf(
    sql,
    `select 1 from sendledger.outbound_message m
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text = 'unknown' limit 1`,
    rowKeys(messages),
  );
  return rows.length > 0;
}

/**
 * Closes the items that asked for a price which is there now. Answers how many. In the transaction that added the price.
 *
 * @param by who added it
 */
export async function resolveNoRate(sql: Sql, routeId: string, by: string, note: string): Promise<number> {
  return countOf(
    sql,
    `update sendledger.review_item v set resolved_at = now(), resolved_by = $2, resolution = 'rate_added', note = $3
     where v.kind = 'no_rate' and v.resolved_at is null and v.route_id = $1
       and exists (select from sendledger.rate_card c where c.route_id = $1 and c.valid @> now()
         and c.price_key in ('*', split_part(v.evidence->>'price_key', ':', 1) || ':*', v.evidence->>'price_key'))`,
    [routeId, by, note],
  );
}
