import { wakeWatched } from './absence-watch.ts';
import { type RowRef, rowKeys } from './identity.ts';
import { markApplied } from './mark-applied.ts';
import { rowsOfReceipts, type StoredReceipt } from './match-receipts.ts';
import { wakePolls } from './polls.ts';
import { postponeReceipts } from './postpone-receipts.ts';
import type { ReceiptOrigin } from './receipt-record.ts';
import { rowsOf, type Sql } from './sql.ts';
import { unresolvedSubmissionsOf } from './unresolved.ts';

/**
 * Hints say that there is news and move nothing: the report of the request they name is due at once, in the transaction that marks
 * them as applied, so that none is spent for nothing. Those that name no id of ours may be about a row that waits to be resolved,
 * or about one that was called absent.
 */
export async function applyHints(
  sql: Sql,
  origin: ReceiptOrigin,
  hints: readonly StoredReceipt[],
): Promise<{ readonly hinted: number; readonly waiting: number }> {
  if (hints.length === 0) return { hinted: 0, waiting: 0 };
  const rows = await rowsOfReceipts(sql, origin, hints);
  const strangers = hints.filter((hint) => !rows.has(hint));
  const recipients = [...new Set(strangers.flatMap((hint) => hint.recipient ?? []))];
  const submissions = new Map(
    [
      ...(await submissionsOf(sql, [...rows.values()])),
      ...(await unresolvedSubmissionsOf(sql, origin.routeId, recipients)),
    ].map((ref) => [ref.id, ref]),
  );
  await wakePolls(sql, [...submissions.values()]);
  await wakeWatched(sql, recipients);
  await postponeReceipts(sql, strangers);
  await markApplied(
    sql,
    [...rows].map(([receipt, ref]) => ({ ref, receipt, conflict: false })),
  );
  return { hinted: rows.size, waiting: strangers.length };
}

async function submissionsOf(sql: Sql, messages: readonly RowRef[]): Promise<RowRef[]> {
  if (messages.length === 0) return [];
  return rowsOf<RowRef>(
    sql,
    `select distinct m.submission_id as id, m.submission_created_at as "createdAt" from sendledger.outbound_message m
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.submission_id is not null`,
    rowKeys(messages),
  );
}
