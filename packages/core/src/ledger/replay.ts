import { SendledgerError } from '../domain/errors.ts';
import { needNameAndReason } from './audit-log.ts';
import type { RowRef } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface ReplayRequest {
  readonly message: RowRef;
  /** Who asks, and why: kept in the audit log, whatever the answer. */
  readonly who: string;
  readonly why: string;
  /** The first was billed and may have arrived, or may yet; its sender accepts a second. Never lifts `unknown`. */
  readonly mayDuplicate?: boolean;
  /** Absence was proven: sent again by itself, where its sender wants that, inside its own `submit_by`, unless cancelled. */
  readonly automatic?: boolean;
  /** Past it the successor is worthless. Default: what its lane says, from now or from its schedule. */
  readonly submitBy?: Date | null;
  /** Name of another route; default: the route of the message. */
  readonly route?: string | null;
  /** Only a message of this tenant; default: of any. */
  readonly tenantId?: string | null;
}

export interface ReplayAnswer {
  /**
   * `created`: the successor is in the ledger, pending. Each other one is a refusal, and nothing has changed:
   * `not_found` · `key_forgotten`: its business key is gone, so nothing could stop a second successor · `replaced`: it has a
   * successor · `unknown`: nobody knows whether it was sent · `delivered` · `superseded`: a historic duplicate · `open`: it is
   * on its way · `redacted`: its text is gone · `may_duplicate`: accepted without a word of its fate, or with words that
   * contradict each other · `stopped`, `cancelled`: not again by itself · `too_late`: worthless by now · `no_route`: no such
   * route, or it cannot carry it.
   */
  readonly answer:
    | 'created'
    | 'not_found'
    | 'key_forgotten'
    | 'replaced'
    | 'unknown'
    | 'delivered'
    | 'superseded'
    | 'open'
    | 'redacted'
    | 'may_duplicate'
    | 'stopped'
    | 'too_late'
    | 'cancelled'
    | 'no_route';
  /** The successor; null where it was refused. */
  readonly message: RowRef | null;
  readonly attemptKey: string | null;
  /** The lane to wake after the commit. */
  readonly lane: string | null;
  /** Why it was refused, as half a sentence. */
  readonly reason: string | null;
  /** The message that was asked for. */
  readonly replaces: RowRef;
}

/**
 * Sends a message again: a new row with a new attempt key that says what it replaces, and the business key moves to it by
 * compare-and-set, so that a row has one successor however many ask at once. The SQL function decides, under the locks of
 * key and message, and writes the audit log: `replay`, or `replay_refused` for a person's request that was refused.
 *
 * @throws SendledgerError SENDLEDGER_REASON_NEEDED before anything is asked, where who or why is empty
 */
export async function replay(sql: Sql, request: ReplayRequest): Promise<ReplayAnswer> {
  const { message, who, why } = request;
  needNameAndReason(`The replay of message ${message.id}`, who, why);
  const [row] = await rowsOf<{
    answer: ReplayAnswer['answer'];
    message_id: string | null;
    message_created_at: string | null;
    attempt_key: string | null;
    lane: string | null;
    reason: string | null;
  }>(sql, ...callOf(request));
  if (row === undefined) throw new SendledgerError('SENDLEDGER_MIGRATION_MISSING', 'The replay was left unanswered.');
  return {
    answer: row.answer,
    message:
      row.message_id === null || row.message_created_at === null
        ? null
        : { id: row.message_id, createdAt: new Date(row.message_created_at) },
    attemptKey: row.attempt_key,
    lane: row.lane,
    reason: row.reason,
    replaces: message,
  };
}

/** An application may ask for its own tenant's only, and as a person does. */
function callOf(request: ReplayRequest): [string, unknown[]] {
  const { message, who, why, tenantId = null, automatic = false } = request;
  const mayDuplicate = request.mayDuplicate ?? false;
  const submitBy = request.submitBy ?? null;
  const route = request.route ?? null;
  if (tenantId !== null && !automatic)
    return [
      'select * from sendledger.replay_own($1, $2, $3, $4, $5, $6, $7, $8)',
      [tenantId, message.id, message.createdAt, who, why, mayDuplicate, submitBy, route],
    ];
  return [
    'select * from sendledger.replay($1, $2, $3, $4, $5, $6, $7, $8, $9)',
    [message.id, message.createdAt, who, why, mayDuplicate, automatic, submitBy, route, tenantId],
  ];
}
