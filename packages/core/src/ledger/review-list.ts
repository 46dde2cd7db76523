import { type RowRef, rowKeys } from './identity.ts';
import { maskEvidence, maskNumber, maskNumbers } from './mask-numbers.ts';
import { messagesOf } from './review-messages.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface ReviewLine {
  readonly id: string;
  readonly kind: string;
  /** Numbers in it are masked. */
  readonly subject: string;
  /** Name of the route it is about. */
  readonly route: string | null;
  readonly messageId: string | null;
  readonly openedAt: Date;
  readonly resolvedAt: Date | null;
  readonly resolvedBy: string | null;
  /** `sent`, `not_sent`, `leave`, `settled_by_evidence`, … */
  readonly resolution: string | null;
  readonly note: string | null;
}

export interface ReviewedMessageLine extends RowRef {
  readonly state: string;
  readonly reason: string | null;
  readonly recipient: string;
  readonly tenant: string;
  readonly messageClass: string;
  readonly senderId: string | null;
  readonly requestedAt: Date | null;
  /** What it costs if it was sent, or cost; decimal text. */
  readonly cost: string | null;
  readonly currency: string | null;
}

export interface ReviewItem extends ReviewLine {
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly submissionId: string | null;
  readonly messages: readonly ReviewedMessageLine[];
}

const LINE = `v.id, v.kind, v.subject, r.name as route, v.message_id as "messageId", v.opened_at as "openedAt",
  v.resolved_at as "resolvedAt", v.resolved_by as "resolvedBy", v.resolution, v.note`;

/** What waits for a person, the oldest first; with `open` false also what was decided, the newest first. */
export async function listReview(
  sql: Sql,
  wanted: { readonly kind?: string; readonly limit: number; readonly open: boolean },
): Promise<ReviewLine[]> {
  const rows = await rowsOf<ReviewLine>(
    sql,
    `select ${LINE} from sendledger.review_item v left join sendledger.route r on r.id = v.route_id
     where ($1::text is null or v.kind = $1) ${wanted.open ? 'and v.resolved_at is null' : ''}
     order by v.id ${wanted.open ? '' : 'desc'} limit $2`,
    [wanted.kind ?? null, wanted.limit],
  );
  return rows.map((row) => ({ ...row, subject: maskNumbers(row.subject) }));
}

/** One item, with its evidence and what became of its messages so far. Numbers are masked unless `reveal`. */
export async function reviewItem(
  sql: Sql,
  id: string,
  options: { readonly reveal?: boolean } = {},
): Promise<ReviewItem | null> {
  const [row] = await rowsOf<
    ReviewLine & {
      message_id: string | null;
      message_created_at: Date | null;
      submissionId: string | null;
      evidence: Record<string, unknown>;
    }
  >(
    sql,
    `select ${LINE}, v.message_id, v.message_created_at, v.submission_id as "submissionId", v.evidence
     from sendledger.review_item v left join sendledger.route r on r.id = v.route_id where v.id = $1`,
    [id],
  );
  if (row === undefined) return null;
  const { message_id, message_created_at, ...item } = row;
  const messages = await messageLines(sql, messagesOf({ message_id, message_created_at, evidence: item.evidence }));
  if (options.reveal === true) return { ...item, messages };
  const known = messages.map((message) => message.recipient);
  return {
    ...item,
    subject: maskNumbers(item.subject),
    evidence: maskEvidence(item.evidence, known) as Record<string, unknown>,
    messages: messages.map((message) => ({ ...message, recipient: maskNumber(message.recipient) })),
  };
}

async function messageLines(sql: Sql, refs: readonly RowRef[]): Promise<ReviewedMessageLine[]> {
  if (refs.length === 0) return [];
  return rowsOf<ReviewedMessageLine>(
    sql,
    `select m.id, m.created_at as "createdAt", m.state::text as state, m.state_reason as reason, m.recipient,
       m.tenant_id as tenant, m.message_class::text as "messageClass", m.sender_id as "senderId", m.requested_at as "requestedAt",
       coalesce(m.cost, m.quoted_cost)::text as cost, coalesce(m.cost_currency, m.quoted_currency) as currency
     from sendledger.outbound_message m where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 order by m.id`,
    rowKeys(refs),
  );
}
