import { type RowRef, rowKeys } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

/** What a review item says about its messages, as it lies in the table. */
export interface ReviewSubject {
  readonly message_id: string | null;
  readonly message_created_at: Date | null;
  readonly evidence: Readonly<Record<string, unknown>>;
}

/**
 * The messages an item is about: those its evidence lists as `messages: [{id, created_at}, …]`, which are decided together,
 * else its one message. What is not such a list is no list.
 */
export function messagesOf(item: ReviewSubject): RowRef[] {
  const { messages } = item.evidence;
  if (Array.isArray(messages)) {
    const refs = messages.map(rowRef);
    if (refs.length > 0 && refs.every((ref) => ref !== null)) return refs;
  }
  return item.message_id === null || item.message_created_at === null
    ? []
    : [{ id: item.message_id, createdAt: item.message_created_at }];
}

function rowRef(value: unknown): RowRef | null {
  if (typeof value !== 'object' || value === null) return null;
  const { id, created_at } = value as { id?: unknown; created_at?: unknown };
  if (typeof id !== 'string' || !/^[0-9]{1,18}$/.test(id) || typeof created_at !== 'string') return null;
  const createdAt = new Date(created_at);
  return Number.isNaN(createdAt.getTime()) ? null : { id, createdAt };
}

export interface ReviewedMessage extends RowRef {
  readonly state: string;
}

/** Locks the messages of a decision, by id, and reads their states: what they are now is what is decided about. */
export async function lockMessages(sql: Sql, messages: readonly RowRef[]): Promise<ReviewedMessage[]> {
  if (messages.length === 0) return [];
  return rowsOf<ReviewedMessage>(
    sql,
    `select m.id, m.created_at as "createdAt", m.state::text as state from sendledger.outbound_message m
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3
     order by m.id for no key update`,
    rowKeys(messages),
  );
}
