import { type RowRef, rowKeys } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

/**
 * Messages that turned out to be sent, and were replaced meanwhile: whatever of their successors has not been sent is cancelled.
 * Only the fact is written here, inside the evidence's own transaction, and every claim reads it; the rows that wait are swept
 * after the commit (`sweepCancelled`), because a submission comes before its messages in the order of locks.
 */
export async function cancelSuccessors(sql: Sql, sent: readonly RowRef[]): Promise<RowRef[]> {
  if (sent.length === 0) return [];
  const waiting: (RowRef & { tenantId: string })[] = [];
  let ids: readonly string[] = sent.map((row) => row.id);
  while (ids.length > 0) {
    const next = await rowsOf<RowRef & { tenantId: string; state: string; fallsBack: boolean }>(
      sql,
      `select m.id, m.created_at as "createdAt", m.tenant_id as "tenantId", m.state::text as state,
         m.fallback_step is not null and m.state in ('rejected', 'failed') as "fallsBack"
       from sendledger.outbound_message m where m.replaces_id = any ($1::bigint[])`,
      [ids],
    );
    // Unknown too: proven not sent later on, it would be sent again by itself. And what is about to be sent another way.
    waiting.push(
      ...next.filter((row) => row.fallsBack || ['pending', 'claimed', 'retry', 'unknown'].includes(row.state)),
    );
    ids = next.map((row) => row.id);
  }
  if (waiting.length === 0) return [];
  await withdraw(sql, waiting, 'the message it replaces was sent after all');
  return waiting.map(({ id, createdAt }) => ({ id, createdAt }));
}

/**
 * These messages must not go out: the fact is written inside the evidence's own transaction, and every claim reads it. What waits,
 * or is claimed and not marked, is swept after the commit.
 */
export async function withdraw(
  sql: Sql,
  messages: readonly RowRef[],
  why = 'an earlier try of it was sent after all',
): Promise<void> {
  if (messages.length === 0) return;
  await sql.query(
    `insert into sendledger.cancellation (tenant_id, kind, message_id, requested_by, reason)
     select m.tenant_id, 'message', m.id, 'sendledger', $4
     from sendledger.outbound_message m
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3
       and not exists (select from sendledger.cancellation c where c.kind = 'message' and c.message_id = m.id)`,
    [...rowKeys(messages), why],
  );
}

/**
 * Messages that we ourselves cancelled a moment ago and that still wait: whoever wrote the fact died before the sweep. Read from the
 * newest fact back.
 */
export async function unsweptCancellations(sql: Sql, limit: number): Promise<RowRef[]> {
  return rowsOf<RowRef>(
    sql,
    `with recent as materialized (
       select c.message_id from (select c.* from sendledger.cancellation c order by c.id desc limit 2000) c
       where c.kind = 'message' and c.requested_by = 'sendledger' and c.created_at > now() - interval '1 hour'
     )
     select m.id, m.created_at as "createdAt" from sendledger.outbound_message m
     where m.id = any (array(select r.message_id from recent r)) and m.state in ('pending', 'retry', 'claimed')
     limit $1`,
    [limit],
  );
}
