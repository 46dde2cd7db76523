import { watchAbsent } from './absence-watch.ts';
import { MOVED_ROW, type MovedRow, type RowRef, rowKeys } from './identity.ts';
import { type HeldSubmission, lockSubmissionsOf } from './lock-submissions.ts';
import { openReview } from './open-review.ts';
import { type ReplayAnswer, replay } from './replay.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';

export interface SentBy {
  readonly reason: string;
  readonly costSource: 'quote' | 'evidence' | 'person';
  readonly correlation: 'matched' | null;
  /** Width of the window in which the record was looked for, ms. */
  readonly windowMs: number | null;
  /** What the evidence says about the provider's ids, by message id. */
  readonly ids?: ReadonlyMap<string, { readonly txnId: string | null; readonly messageId: string | null }>;
}

/**
 * unknown → submitted: it was sent. Billed at the frozen quote, once. A request that reached the provider for one of its
 * recipients was accepted, so its ambiguous submission becomes that too. Rows that are not unknown any more are left alone.
 */
export async function settleAsSent(sql: Sql, rows: readonly RowRef[], how: SentBy): Promise<MovedRow[]> {
  if (rows.length === 0) return [];
  const held = await lockSubmissionsOf(sql, rows);
  const moved = await rowsOf<MovedRow>(
    sql,
    `update sendledger.outbound_message m
     set state = 'submitted', state_reason = $4, updated_at = now(), reconciled_at = now(), submitted_at = m.requested_at,
       receipt_by = greatest(now(), m.scheduled_for) + (select l.receipt_within from sendledger.lane l
         where l.route_id = m.route_id and l.message_class = m.message_class),
       billable_units = m.quoted_units, cost = m.quoted_cost, cost_currency = m.quoted_currency, cost_source = $5::sendledger.cost_source,
       correlation_result = coalesce($6::sendledger.correlation_result, m.correlation_result),
       correlation_window_ms = coalesce($7::integer, m.correlation_window_ms),
       provider_txn_id = coalesce(m.provider_txn_id, ($8::text[])[array_position($1::bigint[], m.id)]),
       provider_message_id = coalesce(m.provider_message_id, ($9::text[])[array_position($1::bigint[], m.id)])
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text = 'unknown'
     returning ${MOVED_ROW}`,
    [
      ...rowKeys(rows),
      how.reason,
      how.costSource,
      how.correlation,
      how.windowMs,
      rows.map((row) => how.ids?.get(row.id)?.txnId ?? null),
      rows.map((row) => how.ids?.get(row.id)?.messageId ?? null),
    ],
  );
  const clear = new Set(moved.map((row) => row.submissionId));
  await acceptSubmissions(
    sql,
    [...held.values()].filter((s) => s.state === 'ambiguous' && clear.has(s.id)),
    how.reason,
    await txnIdOf(sql, rows, how),
  );
  return moved;
}

/** The transaction that evidence named for a row is its request's. */
async function txnIdOf(sql: Sql, rows: readonly RowRef[], how: SentBy): Promise<Map<string, string>> {
  const named = rows.filter((row) => (how.ids?.get(row.id)?.txnId ?? null) !== null);
  if (named.length === 0) return new Map();
  const found = await rowsOf<{ submission: string; txn: string }>(
    sql,
    `select m.submission_id as submission, m.provider_txn_id as txn from sendledger.outbound_message m
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.provider_txn_id is not null`,
    rowKeys(named),
  );
  return new Map(found.map((row) => [row.submission, row.txn]));
}

async function acceptSubmissions(
  sql: Sql,
  submissions: readonly HeldSubmission[],
  reason: string,
  txnIds: ReadonlyMap<string, string>,
): Promise<void> {
  if (submissions.length === 0) return;
  await sql.query(
    `update sendledger.submission s
     set state = 'accepted', responded_at = greatest(now(), s.responded_at + interval '1 microsecond'), outcome_reason = $4,
       provider_txn_id = coalesce(s.provider_txn_id, ($5::text[])[array_position($1::bigint[], s.id)]),
       -- Its report is read from now on; without an id, it is what ends the window of its rows.
       poll_at = now()
     where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3 and s.state::text = 'ambiguous'`,
    [...rowKeys(submissions), reason, submissions.map((s) => txnIds.get(s.id) ?? null)],
  );
}

export interface NotSentBy {
  readonly reason: string;
  /** Why it cannot have been sent; stored on the submission. */
  readonly proof: string;
  /** Absence is proven, and not somebody's word: `on_proven_absent = replay` sends it again. */
  readonly proven: boolean;
  readonly correlation: 'not_found' | null;
  readonly windowMs: number | null;
}

/**
 * unknown → failed: it was not sent. Where that is proven, the successor is made in the same transaction, inside `submit_by`:
 * what was proven not sent is not lost. Rows that are not unknown any more are left alone.
 */
export async function settleAsNotSent(
  sql: Sql,
  rows: readonly RowRef[],
  how: NotSentBy,
): Promise<{ readonly moved: MovedRow[]; readonly replays: readonly ReplayAnswer[] }> {
  if (rows.length === 0) return { moved: [], replays: [] };
  // The key comes before everything else in the order of locks, and a replay will want it.
  if (how.proven) await sql.query('select sendledger.lock_keys_of($1::bigint[], $2, $3)', rowKeys(rows));
  const held = await lockSubmissionsOf(sql, rows);
  const moved = await rowsOf<MovedRow & { id: string; createdAt: Date; onProvenAbsent: string }>(
    sql,
    `update sendledger.outbound_message m
     set state = 'failed', state_reason = $4, updated_at = now(), reconciled_at = now(),
       correlation_result = coalesce($5::sendledger.correlation_result, m.correlation_result),
       correlation_window_ms = coalesce($6::integer, m.correlation_window_ms)
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text = 'unknown'
     returning m.id, m.created_at as "createdAt", m.on_proven_absent as "onProvenAbsent", ${MOVED_ROW}`,
    [...rowKeys(rows), how.reason, how.correlation, how.windowMs],
  );
  await refuseSubmissions(
    sql,
    [...held.values()].filter((s) => s.state === 'ambiguous'),
    how,
  );
  // A record that comes later would show this to be wrong.
  await watchAbsent(sql, moved);
  const again = how.proven ? moved.filter((row) => row.onProvenAbsent === 'replay') : [];
  return { moved, replays: await replayProven(sql, again, how.reason) };
}

/** ambiguous → not_sent, once none of its rows can be thought sent any more. */
async function refuseSubmissions(sql: Sql, submissions: readonly RowRef[], how: NotSentBy): Promise<number> {
  if (submissions.length === 0) return 0;
  return countOf(
    sql,
    `update sendledger.submission s
     set state = 'not_sent', responded_at = greatest(now(), s.responded_at + interval '1 microsecond'), outcome_reason = $4,
       outcome_proof = $5, poll_at = null
     where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3 and s.state::text = 'ambiguous'
       and s.id <> all (array(select m.submission_id from sendledger.outbound_message m
         where m.submission_id = any ($1::bigint[]) and m.state in ('claimed', 'submitted', 'unknown')))`,
    [...rowKeys(submissions), how.reason, how.proof],
  );
}

/** Their successors, for rows that were just moved to `failed` in this transaction and whose keys it holds. */
export async function replayProven(sql: Sql, rows: readonly RowRef[], why: string): Promise<ReplayAnswer[]> {
  const answers: ReplayAnswer[] = [];
  for (const row of rows) {
    const answer = await replay(sql, { message: row, who: 'sendledger', why, automatic: true });
    answers.push(answer);
    // Too late, cancelled and replaced have their answer; anything else would lose the message without a word.
    if (!['created', 'stopped', 'too_late', 'cancelled', 'replaced'].includes(answer.answer))
      await openReview(sql, {
        kind: 'proven_not_sent',
        subject: `message ${row.id}`,
        message: row,
        evidence: { reason: why, not_replayed: answer.reason, remedy: 'replay it if it is still wanted' },
      });
  }
  return answers;
}
