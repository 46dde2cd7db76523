import { SendledgerError } from '../domain/errors.ts';
import type { RowRef } from './identity.ts';
import type { Sql } from './sql.ts';

export interface AuditLogEntry {
  readonly who: string;
  /** What was done: `review_sent`, `refund`, … */
  readonly action: string;
  /** What it was done to: `review 12`, `message 1042`. */
  readonly subject: string;
  readonly message?: RowRef | null;
  readonly why: string;
  /** Never a body, a code or a credential. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Keeps what a person did, in the transaction that does it: both are there or neither. */
export async function writeAuditLog(sql: Sql, entry: AuditLogEntry): Promise<void> {
  await sql.query(
    `insert into sendledger.audit_log (who, action, subject, message_id, message_created_at, why, details)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      entry.who,
      entry.action,
      entry.subject,
      entry.message?.id ?? null,
      entry.message?.createdAt ?? null,
      entry.why,
      JSON.stringify(entry.details ?? {}),
    ],
  );
}

/**
 * Nothing a person decides is kept without a name and a reason.
 *
 * @param what the decision, for the error, e.g. `The replay of message 7`
 * @throws SendledgerError SENDLEDGER_REASON_NEEDED
 */
export function needNameAndReason(what: string, who: string, why: string): void {
  if (who.trim() === '' || why.trim() === '')
    throw new SendledgerError(
      'SENDLEDGER_REASON_NEEDED',
      `${what} names no ${who.trim() === '' ? 'person' : 'reason'}.`,
    );
}
