import { SendledgerError } from '../domain/errors.ts';
import { needNameAndReason, writeAuditLog } from './audit-log.ts';
import type { RowRef } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface Adjustment {
  readonly message: RowRef;
  /** Decimal text, at most four places. Of a refund: what came back, above zero. Of a correction: what is added to the cost. */
  readonly amount: string;
  /** ISO 4217; that of the message's cost. */
  readonly currency: string;
  readonly kind: 'refund' | 'correction';
  /** What the provider said, and where: a credit note, a line of its history. The same again is the same adjustment. */
  readonly evidence: string;
  readonly by: string;
}

export type AdjustmentAnswer =
  | { readonly answer: 'booked'; readonly left: string; readonly currency: string }
  /** This evidence was booked for this message before, with this (signed) amount. */
  | { readonly answer: 'already_booked'; readonly amount: string; readonly currency: string }
  | { readonly answer: 'not_found' }
  | { readonly answer: 'no_cost' }
  | { readonly answer: 'other_currency'; readonly currency: string }
  /** The cost less all that was adjusted before is smaller than that. */
  | { readonly answer: 'more_than_left'; readonly left: string; readonly currency: string };

const AMOUNT = /^-?\d{1,8}(\.\d{1,4})?$/;

/**
 * Books a refund or a correction of what a message cost, in one transaction. The charge itself never moves: what it cost is
 * its cost and the sum of its adjustments. Two at once come one after the other, by the lock on the message, so together they
 * give back no more than there was.
 *
 * @throws SendledgerError SENDLEDGER_AMOUNT_INVALID, SENDLEDGER_REASON_NEEDED, before anything is asked
 */
export async function recordAdjustment(sql: Sql, adjustment: Adjustment): Promise<AdjustmentAnswer> {
  const { message, amount, currency, kind, evidence, by } = adjustment;
  needNameAndReason(`The ${kind} of message ${message.id}`, by, evidence);
  if (!AMOUNT.test(amount) || Number(amount) === 0 || (kind === 'refund' && amount.startsWith('-')))
    throw new SendledgerError('SENDLEDGER_AMOUNT_INVALID', `It was ${JSON.stringify(amount)}, for a ${kind}.`);
  const added = kind === 'refund' ? `-${amount}` : amount;

  const [cost] = await rowsOf<{ cost: string | null; currency: string | null }>(
    sql,
    `select m.cost::text as cost, m.cost_currency as currency from sendledger.outbound_message m
     where m.id = $1 and m.created_at = $2 for no key update`,
    [message.id, message.createdAt],
  );
  if (cost === undefined) return { answer: 'not_found' };
  const [before] = await rowsOf<{ amount: string; currency: string }>(
    sql,
    'select a.amount::text as amount, a.currency from sendledger.charge_adjustment a where a.message_id = $1 and a.evidence = $2',
    [message.id, evidence],
  );
  if (before !== undefined) return { answer: 'already_booked', ...before };
  if (cost.cost === null || cost.currency === null) return { answer: 'no_cost' };
  if (cost.currency !== currency) return { answer: 'other_currency', currency: cost.currency };

  const [sum] = await rowsOf<{ left: string; enough: boolean; after: string }>(
    sql,
    `select x.left::text, x.left + $3::numeric >= 0 as enough, (x.left + $3::numeric)::text as after
     from (select $2::numeric + coalesce(sum(a.amount), 0) as left from sendledger.charge_adjustment a where a.message_id = $1) x`,
    [message.id, cost.cost, added],
  );
  if (sum === undefined || !sum.enough) return { answer: 'more_than_left', left: sum?.left ?? '0', currency };
  await sql.query(
    `insert into sendledger.charge_adjustment (message_id, message_created_at, amount, currency, kind, evidence, created_by)
     values ($1, $2, $3::numeric, $4, $5, $6, $7)`,
    [message.id, message.createdAt, added, currency, kind, evidence, by],
  );
  await writeAuditLog(sql, {
    who: by,
    action: kind,
    subject: `message ${message.id}`,
    message,
    why: evidence,
    details: { amount: added, currency },
  });
  return { answer: 'booked', left: sum.after, currency };
}

export interface AdjustmentSum {
  readonly currency: string;
  /** Signed decimal text. */
  readonly amount: string;
}

/** What was refunded and corrected of messages made since then, by currency. */
export async function adjustmentSums(sql: Sql, since: Date): Promise<AdjustmentSum[]> {
  return rowsOf<AdjustmentSum>(
    sql,
    `select a.currency, sum(a.amount)::text as amount from sendledger.charge_adjustment a
     where a.message_created_at >= $1 group by 1 order by 1`,
    [since],
  );
}
