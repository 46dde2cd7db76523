import { type RowRef, rowKeys } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

/** A message on one line. */
export interface MessageListed extends RowRef {
  readonly state: string;
  readonly reason: string | null;
  readonly messageClass: string;
  readonly channel: string;
  readonly recipient: string;
  readonly tenant: string;
  readonly eventType: string;
  readonly eventId: string;
}

/** These messages, the newest first. */
export async function listMessages(sql: Sql, refs: readonly RowRef[]): Promise<MessageListed[]> {
  if (refs.length === 0) return [];
  return rowsOf<MessageListed>(
    sql,
    `select m.id, m.created_at as "createdAt", m.state::text as state, m.state_reason as reason, m.message_class::text as "messageClass",
       m.channel::text as channel, m.recipient, m.tenant_id as tenant, m.event_type as "eventType", m.event_id as "eventId"
     from sendledger.outbound_message m where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3
     order by m.created_at desc, m.id desc`,
    rowKeys(refs),
  );
}

/** The whole key of a message whose id is known; null: there is none. */
export async function messageRef(sql: Sql, id: string): Promise<RowRef | null> {
  const [row] = await rowsOf<RowRef>(
    sql,
    'select m.id, m.created_at as "createdAt" from sendledger.outbound_message m where m.id = $1::bigint',
    [id],
  );
  return row ?? null;
}
