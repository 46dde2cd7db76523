import { judgeReceipt } from '../domain/receipt.ts';
import type { MessageState } from '../domain/state.ts';
import { applyHints } from './apply-hints.ts';
import { billAfterClose } from './bill-after-close.ts';
import { byId, MOVED_ROW, type MovedRow, type RowRef, rowKeys, sortedRowKeys } from './identity.ts';
import { keepMessageIds, type LearnedId, learnMessageIds } from './learn-message-ids.ts';
import { markApplied } from './mark-applied.ts';
import { lockUnapplied, matchReceipts, meansAnother, type StoredReceipt, type Target } from './match-receipts.ts';
import { openReview } from './open-review.ts';
import { postponeReceipts } from './postpone-receipts.ts';
import type { ReceiptOrigin } from './receipt-record.ts';
import { dictionary } from './row-values.ts';
import { settleAsSent } from './settle-unknown.ts';
import { rowsOf, type Sql } from './sql.ts';
import { cancelSuccessors, withdraw } from './successors.ts';

export interface AppliedReceipts {
  readonly delivered: number;
  readonly failed: number;
  /** Unknown rows that these receipts prove accepted. */
  readonly proven: number;
  readonly conflicts: number;
  /** Rows that were closed as unsent and are billed now. */
  readonly billed: number;
  /** Receipts that match no row yet, or whose row is not ready for them. */
  readonly waiting: number;
  /** Hints that woke a poll. */
  readonly hinted: number;
  /** Unsent successors of messages that arrived after all; their cancellation is a fact, to be swept after the commit. */
  readonly successors: readonly RowRef[];
  /** Rows that are no longer unknown because of these receipts. */
  readonly settled: readonly RowRef[];
  /** What the provider's clock said, minus what ours said, in ms, for requests whose ids we knew before. */
  readonly clockOffsetsMs: readonly number[];
}

/** Receipts to apply in one transaction at most: the work of one grows with the square of their number. */
export const RECEIPTS_AT_ONCE = 500;

const NOTHING: AppliedReceipts = {
  delivered: 0,
  failed: 0,
  proven: 0,
  conflicts: 0,
  billed: 0,
  waiting: 0,
  hinted: 0,
  successors: [],
  settled: [],
  clockOffsetsMs: [],
};

interface Judged {
  readonly ref: Target;
  readonly receipt: StoredReceipt;
}

/**
 * Applies stored receipts that were not applied yet, named by their hashes: matches each to its row by the provider's
 * message id or by transaction and recipient, moves the row, and marks the receipt applied. Idempotent; any order of the
 * same receipts ends in the same row as long as the finals agree. `moved` is told of each row, for the log.
 */
export async function applyReceipts(
  sql: Sql,
  origin: ReceiptOrigin,
  hashes: readonly Buffer[],
  moved: (row: MovedRow) => void = () => undefined,
): Promise<AppliedReceipts> {
  const unapplied = await lockUnapplied(sql, hashes);
  if (unapplied.length === 0) return NOTHING;
  // First, since they touch submissions and no message: a submission comes before its messages in the order of locks.
  const hinted = await applyHints(
    sql,
    origin,
    unapplied.filter((receipt) => receipt.hint),
  );
  const receipts = unapplied.filter((receipt) => !receipt.hint);
  if (receipts.length === 0) return { ...NOTHING, ...hinted };
  const targets = await matchReceipts(sql, origin, receipts);

  const waiting: StoredReceipt[] = [];
  const accepted: Judged[] = [];
  const moves: (Judged & { to: 'delivered' | 'failed' })[] = [];
  const conflicting: (Judged & { bill: boolean })[] = [];
  // Rows that are about to be sent again, and were sent before.
  const withdrawn: RowRef[] = [];
  const done: (Judged & { conflict: boolean })[] = [];
  // Two receipts for one row in one call: the second is judged against where the first leaves the row.
  const stateNow = new Map<string, MessageState>();
  const billedNow = new Set<string>();

  for (const receipt of receipts) {
    const target = targets.get(receipt);
    if (target === undefined) {
      waiting.push(receipt);
      continue;
    }
    if (meansAnother(target, receipt)) {
      waiting.push(receipt);
      await openReview(sql, {
        kind: 'provider_message_owned',
        once: true,
        subject: `message ${target.id} ${receipt.providerMessageId} named for another`,
        routeId: origin.routeId,
        message: target,
        evidence: {
          provider_message_id: receipt.providerMessageId,
          owner: target.id,
          provider_txn_id: receipt.providerTxnId,
        },
      });
      continue;
    }
    const state = stateNow.get(target.id) ?? target.state;
    const verdict = judgeReceipt(state, receipt.status, target.billed || billedNow.has(target.id));
    switch (verdict.kind) {
      case 'withdraw':
        withdrawn.push(target);
        waiting.push(receipt);
        continue;
      case 'wait':
        waiting.push(receipt);
        continue;
      case 'move':
        if (verdict.viaSubmitted) accepted.push({ ref: target, receipt });
        moves.push({ ref: target, to: verdict.to, receipt });
        stateNow.set(target.id, verdict.to);
        billedNow.add(target.id);
        break;
      case 'accepted':
        accepted.push({ ref: target, receipt });
        stateNow.set(target.id, 'submitted');
        billedNow.add(target.id);
        break;
      case 'conflict':
        conflicting.push({ ref: target, receipt, bill: verdict.bill });
        if (verdict.bill) billedNow.add(target.id);
        break;
      case 'noted':
        break;
    }
    done.push({ ref: target, receipt, conflict: verdict.kind === 'conflict' });
  }

  // A report that names our transaction, or an id we own, proves acceptance. Billed at the frozen quote.
  const proven = await settleAsSent(
    sql,
    accepted.map((a) => a.ref),
    {
      reason: 'receipt',
      costSource: 'quote',
      correlation: 'matched',
      windowMs: null,
      ids: new Map(accepted.map((a) => [a.ref.id, { txnId: a.receipt.providerTxnId, messageId: null }])),
    },
  );
  for (const row of proven) moved(row);
  const ids = await learnMessageIds(sql, origin, done, targets);
  for (const row of await finish(sql, moves, ids)) moved(row);
  const moving = new Set(moves.map((m) => m.ref.id));
  await keepMessageIds(
    sql,
    [...ids.values()].filter(({ ref }) => !moving.has(ref.id)),
  );
  await flagConflicts(sql, origin, conflicting);
  const billed = await billAfterClose(
    sql,
    origin.routeId,
    conflicting.filter((c) => c.bill),
  );
  const successors = await cancelSuccessors(
    sql,
    // Delivered after all; or it was closed as unsent and was sent, so that a second one would be one too many.
    conflicting
      .filter((c) => c.receipt.status === 'delivered' || (c.receipt.status === 'open' && c.bill))
      .map((c) => c.ref),
  );
  await withdraw(sql, withdrawn);
  await postponeReceipts(sql, waiting);
  await markApplied(sql, done);
  return {
    delivered: moves.filter((m) => m.to === 'delivered').length,
    failed: moves.filter((m) => m.to === 'failed').length,
    proven: proven.length,
    conflicts: conflicting.length,
    billed,
    waiting: waiting.length + hinted.waiting,
    hinted: hinted.hinted,
    successors: [...successors, ...withdrawn.map(({ id, createdAt }) => ({ id, createdAt }))],
    settled: accepted.map((a) => ({ id: a.ref.id, createdAt: a.ref.createdAt })),
    clockOffsetsMs: done.flatMap(({ ref, receipt }) =>
      // What a match of ours says of the clock is what the match was made by.
      ref.known &&
      receipt.pinned === null &&
      ref.requestedAt !== null &&
      receipt.submittedAt !== null &&
      receipt.providerTxnId !== null
        ? [receipt.submittedAt.getTime() - ref.requestedAt.getTime()]
        : [],
    ),
  };
}

/** submitted → delivered or failed, with the provider's id where this receipt was the first to name it. */
async function finish(
  sql: Sql,
  given: readonly (Judged & { readonly to: 'delivered' | 'failed' })[],
  ids: ReadonlyMap<string, LearnedId>,
): Promise<MovedRow[]> {
  if (given.length === 0) return [];
  const moves = byId(given.map((move) => ({ ...move, id: move.ref.id })));
  const states = dictionary(moves.map((m) => m.to));
  const causes = dictionary(moves.map((m) => m.receipt.cause));
  const classes = dictionary(moves.map((m) => m.receipt.causeClass));
  return rowsOf<MovedRow>(
    sql,
    `update sendledger.outbound_message m
     set (state, delivered_at, provider_cause, state_reason, updated_at, reconciled_at, provider_message_id) = (
       select x.state, case when x.state = 'delivered' then ($5::timestamptz[])[x.pos] end,
         coalesce(($8::text[])[($6::integer[])[x.pos]], m.provider_cause), ($9::text[])[($7::integer[])[x.pos]], now(), now(),
         coalesce(m.provider_message_id, ($11::text[])[x.pos])
       from (select p.pos, (($10::text[])[($4::integer[])[p.pos]])::sendledger.message_state as state
         from (select width_bucket(m.id, $1::bigint[]) as pos) p) x)
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text = 'submitted'
     returning ${MOVED_ROW}`,
    [
      ...sortedRowKeys(moves.map((m) => m.ref)),
      states.places,
      // The provider's clock where it gave one, else ours: when the receipt came.
      moves.map((m) => m.receipt.deliveredAt ?? m.receipt.receivedAt),
      causes.places,
      classes.places,
      causes.values,
      classes.values,
      states.values,
      moves.map((m) => ids.get(m.ref.id)?.id ?? null),
    ],
  );
}

async function flagConflicts(
  sql: Sql,
  origin: ReceiptOrigin,
  conflicts: readonly { ref: RowRef; receipt: StoredReceipt; bill: boolean }[],
): Promise<void> {
  if (conflicts.length === 0) return;
  await sql.query(
    `update sendledger.outbound_message m set conflict = true, updated_at = now()
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and not m.conflict
       and m.state in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded')`,
    rowKeys(conflicts.map((c) => c.ref)),
  );
  // Where there is a cost to set right, that is the question.
  for (const { ref, receipt } of conflicts.filter((c) => !c.bill))
    await openReview(sql, {
      kind: 'receipt_conflict',
      once: true,
      subject: `message ${ref.id} ${receipt.status}`,
      routeId: origin.routeId,
      message: ref,
      evidence: { status: receipt.status, provider_message_id: receipt.providerMessageId, cause: receipt.cause },
    });
}
