import { needNameAndReason } from './audit-log.ts';
import { type Cancellation, targetValues } from './cancel-target.ts';
import { rowsOf, type Sql } from './sql.ts';

/** A fact that was written. From its commit on no claim takes what it covers. */
export interface CancellationFact {
  readonly id: string;
  readonly tenantId: string;
  /** Messages made after it are not covered; null: every one is. */
  readonly coversUntil: Date | null;
}

/**
 * Writes the fact and sweeps nothing. Null, and nothing written, for a message that the tenant does not have.
 *
 * @param first another fact of the same request: what is a replay made after it is counted from that one's time
 * @throws SendledgerError SENDLEDGER_REASON_NEEDED
 */
export async function recordCovering(
  sql: Sql,
  { tenantId, target, by, why }: Cancellation,
  first: CancellationFact | null = null,
): Promise<CancellationFact | null> {
  needNameAndReason(
    `The cancellation of ${target.kind === 'tenant' ? `tenant ${tenantId}` : `a ${target.kind}`}`,
    by,
    why,
  );
  const [fact] = await rowsOf<{ id: string | null; coversUntil: Date | string | null }>(
    sql,
    `select c.id::text as id, c.covers_until as "coversUntil"
     from sendledger.record_cancellation($1, $2, $3::bigint, $4, $5, $6, $7, $8::sendledger.message_class, $9::timestamptz, $10, $11, $12::bigint) c`,
    [tenantId, ...targetValues(target), by, why, first?.id ?? null],
  );
  if (fact === undefined || fact.id === null) return null;
  // A driver may hand an instant over as text.
  return { id: fact.id, tenantId, coversUntil: fact.coversUntil === null ? null : new Date(fact.coversUntil) };
}
