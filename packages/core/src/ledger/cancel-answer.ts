import type { CancelAnswer } from './cancel.ts';
import type { CancellationFact } from './cancel-record.ts';
import { type CancelTarget, targetValues } from './cancel-target.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface CancelledMessage {
  readonly id: string;
  readonly createdAt: Date;
  readonly outcome: Exclude<CancelAnswer, 'not_found'>;
  /** The provider has it and holds it until then: too late here, and its schedule may be cancelled there. */
  readonly heldUntil: Date | null;
  /** The provider is asked to drop it: whether it did is seen later. Only where every recipient of its request is cancelled. */
  readonly providerAsked?: boolean;
}

export type CancelCounts = Readonly<Record<Exclude<CancelAnswer, 'not_found'>, number>>;

export interface CoveredMessages {
  /** By the clock of the database. No request of a covered message has a later time. */
  readonly answeredAt: Date;
  readonly counts: CancelCounts;
  /** At most as many as were asked for, the ones that were not cancelled first. */
  readonly rows: readonly CancelledMessage[];
}

/**
 * What became of the covered messages, each once. Of a tenant: only those on the wire or unknown, and not what was sent or
 * ended before.
 *
 * @param list how many are named
 */
export async function cancelAnswer(sql: Sql, fact: CancellationFact, list: number): Promise<CoveredMessages> {
  const [row] = await rowsOf<{
    answer: {
      answered_at: string;
      counts: Partial<CancelCounts>;
      rows: { id: string; created_at: string; outcome: CancelledMessage['outcome']; held_until: string | null }[];
    };
  }>(sql, 'select sendledger.cancel_answer($1, $2::bigint, $3::integer) as answer', [fact.tenantId, fact.id, list]);
  return {
    answeredAt: new Date(row?.answer.answered_at ?? Number.NaN),
    counts: wholeCounts(row?.answer.counts ?? {}),
    rows: (row?.answer.rows ?? []).map((one) => ({
      id: one.id,
      createdAt: new Date(one.created_at),
      outcome: one.outcome,
      heldUntil: one.held_until === null ? null : new Date(one.held_until),
    })),
  };
}

/** What a cancellation would answer if it were asked now: `cancelled` is what would be. Writes nothing. */
export async function previewCancellation(sql: Sql, tenantId: string, target: CancelTarget): Promise<CancelCounts> {
  const [row] = await rowsOf<{ counts: Partial<CancelCounts> }>(
    sql,
    `select sendledger.cancel_preview($1, $2, $3::bigint, $4, $5, $6, $7, $8::sendledger.message_class, $9::timestamptz) as counts`,
    [tenantId, ...targetValues(target)],
  );
  return wholeCounts(row?.counts ?? {});
}

function wholeCounts(counts: Partial<CancelCounts>): CancelCounts {
  return { cancelled: counts.cancelled ?? 0, too_late: counts.too_late ?? 0, unknown: counts.unknown ?? 0 };
}
