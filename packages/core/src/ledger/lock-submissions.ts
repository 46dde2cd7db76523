import { type RowRef, rowKeys } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

/** A submission that messages hang on. */
export interface HeldSubmission extends RowRef {
  readonly state: string;
  readonly providerTxnId: string | null;
}

/**
 * Locks the submissions of these messages, by id: the submission comes before its messages in the order of locks, so whoever
 * moves a message by evidence takes its submission first.
 */
export async function lockSubmissionsOf(sql: Sql, messages: readonly RowRef[]): Promise<Map<string, HeldSubmission>> {
  if (messages.length === 0) return new Map();
  const refs = await rowsOf<{ id: string; createdAt: Date }>(
    sql,
    `select distinct m.submission_id as id, m.submission_created_at as "createdAt" from sendledger.outbound_message m
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.submission_id is not null`,
    rowKeys(messages),
  );
  if (refs.length === 0) return new Map();
  const rows = await rowsOf<HeldSubmission>(
    sql,
    `select s.id, s.created_at as "createdAt", s.state::text as state, s.provider_txn_id as "providerTxnId" from sendledger.submission s
     where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3
     order by s.id for no key update`,
    rowKeys(refs),
  );
  return new Map(rows.map((row) => [row.id, row]));
}
