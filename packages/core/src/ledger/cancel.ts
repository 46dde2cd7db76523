import type pg from 'pg';
import type { MessageState, SubmissionState } from '../domain/state.ts';
import type { RowRef } from './identity.ts';
import { release } from './release.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';
import { durably } from './transaction.ts';

/**
 * `cancelled`: it will not be sent. `too_late`: it was, or may be leaving right now. `unknown`: nobody can say yet whether it
 * was. `not_found`: there is no such message.
 */
export type CancelAnswer = 'cancelled' | 'too_late' | 'unknown' | 'not_found';

export interface CancelRequest {
  readonly tenantId: string;
  readonly message: RowRef;
  readonly requestedBy: string;
  readonly reason: string;
}

/**
 * Cancels one message. The fact is committed first, so that a claim that starts later sees it; then the row is cancelled
 * where it waits, or its submission is released if nobody marked it; the answer comes when neither finds anything to do.
 * No mark of a cancelled message is later than the answer.
 */
export async function cancelMessage(pool: pg.Pool, request: CancelRequest): Promise<CancelAnswer> {
  const known = await durably(pool, (sql) => recordCancellation(sql, request));
  if (!known) return 'not_found';
  return sweepCancelled(pool, request.message);
}

/** Sweeps one message whose cancellation is a committed fact, until there is nothing left to do. */
export async function sweepCancelled(pool: pg.Pool, message: RowRef): Promise<CancelAnswer> {
  for (;;) {
    const answer = await durably(pool, 'cancel', (sql) => cancelOnce(sql, message));
    if (answer !== 'again') return answer;
  }
}

export async function recordCancellation(sql: Sql, request: CancelRequest): Promise<boolean> {
  const written = await countOf(
    sql,
    `insert into sendledger.cancellation (tenant_id, kind, message_id, requested_by, reason)
     select m.tenant_id, 'message', m.id, $4, $5 from sendledger.outbound_message m
     where m.id = $1 and m.created_at = $2 and m.tenant_id = $3`,
    [request.message.id, request.message.createdAt, request.tenantId, request.requestedBy, request.reason],
  );
  return written === 1;
}

/**
 * One round, in one transaction: where the row waits it is cancelled; where it is claimed under an open submission, that is
 * released and the next round finds the row waiting. Waits for row locks and never skips: a claim in flight either commits
 * before and is released here, or sees the cancellation. Never both in one round: an update that finds its row moved on keeps
 * a lock on it, and the submission comes before its rows.
 */
export async function cancelOnce(sql: Sql, message: RowRef): Promise<CancelAnswer | 'again'> {
  const [row] = await rowsOf<{
    state: MessageState;
    submission_id: string | null;
    submission_created_at: Date | null;
    submission_state: SubmissionState | null;
  }>(
    sql,
    `select m.state, m.submission_id, m.submission_created_at, s.state as submission_state
     from sendledger.outbound_message m
     left join sendledger.submission s on s.id = m.submission_id and s.created_at = m.submission_created_at
     where m.id = $1 and m.created_at = $2`,
    [message.id, message.createdAt],
  );
  if (row === undefined) return 'not_found';
  switch (row.state) {
    case 'cancelled':
      return 'cancelled';
    case 'unknown':
      return 'unknown';
    case 'pending':
    case 'retry': {
      const swept = await countOf(
        sql,
        `update sendledger.outbound_message m set state = 'cancelled', state_reason = 'cancelled', updated_at = now()
         where m.id = $1 and m.created_at = $2 and m.state::text in ('pending', 'retry')`,
        [message.id, message.createdAt],
      );
      return swept === 1 ? 'cancelled' : 'again';
    }
    case 'claimed':
      break;
    default:
      return 'too_late';
  }
  if (row.submission_id === null || row.submission_created_at === null || row.submission_state !== 'open')
    return 'too_late';
  // Not released: a mark was first, and the next round reads that.
  await release(sql, [{ id: row.submission_id, createdAt: row.submission_created_at }]);
  return 'again';
}
