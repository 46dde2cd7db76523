import type { BreakerSign } from '@sendledger/core';
import type { MarkedRow, MarkedSubmission, RowOutcome, SubmissionOutcome } from '@sendledger/core/ledger';
import type { Outcome } from '@sendledger/gateway';
import { outagePauseMs, type RetryPolicy, retryPauseMs } from './retry-pause.ts';

export interface JudgePolicy {
  readonly retry: RetryPolicy;
  /** When the report of an accepted request is read first, ms. */
  readonly firstReportMs: number;
  /** Uniform in [0, 1); for the jitter. */
  readonly dice: () => number;
}

/**
 * From what the gateway saw to what the ledger writes, row by row. Pure. Recipients refused inside a success are rejected and
 * unbilled; those the reply does not account for are unknown; what was proven not sent, or refused for now, comes back.
 */
export function judgeOutcome(
  submission: MarkedSubmission,
  outcome: Outcome,
  policy: JudgePolicy,
  nowMs: number,
): SubmissionOutcome {
  const common = {
    id: submission.id,
    createdAt: submission.createdAt,
    leaseToken: submission.leaseToken,
    statusCode: outcome.reply.statusCode,
    httpStatus: outcome.reply.httpStatus,
    rawReply: outcome.reply.raw,
    proof: null,
    providerTxnId: null,
    pollInMs: null,
    ...signOf(submission.routeId, outcome),
    ...throttleOf(submission.routeId, outcome, policy),
  };
  switch (outcome.kind) {
    case 'accepted': {
      const rejected = new Set(outcome.rejected);
      const unaccounted = new Set(outcome.unaccounted);
      return {
        ...common,
        state: 'accepted',
        reason: outcome.providerTxnId === null ? 'accepted_without_id' : 'accepted',
        providerTxnId: outcome.providerTxnId,
        // Also where there is no id to ask by: it is what ends the window of its rows.
        pollInMs: heldMs(submission, nowMs) + policy.firstReportMs,
        rows: submission.rows.map((row) => {
          if (rejected.has(row.recipient))
            return move(row, 'rejected', 'invalid_recipient', outcome.reply.reason, true);
          if (unaccounted.has(row.recipient)) return move(row, 'unknown', 'not_in_reply', outcome.reply.reason, true);
          return move(row, 'submitted', null, outcome.reply.reason, true);
        }),
      };
    }
    case 'refused':
      return {
        ...common,
        state: 'refused',
        reason: `refused_${outcome.scope}`,
        rows: submission.rows.map((row) => refusedRow(row, outcome, policy, nowMs)),
      };
    case 'not_sent':
      return {
        ...common,
        state: 'not_sent',
        reason: 'not_sent',
        proof: `${outcome.proof}: ${outcome.detail}`.slice(0, 500),
        rows: submission.rows.map((row) => ({
          ...move(row, 'retry', `not_sent_${outcome.proof}`, null, false),
          // Bounded by submit_by alone.
          retryInMs: outagePauseMs(policy.retry, nowMs - row.createdAt.getTime(), policy.dice()),
        })),
      };
    case 'ambiguous':
      return {
        ...common,
        state: 'ambiguous',
        // Where the reply named a transaction, it is what the resolver asks by.
        providerTxnId: outcome.providerTxnId ?? null,
        pollInMs: heldMs(submission, nowMs) + policy.firstReportMs,
        reason: outcome.unmappedCode === null ? outcome.detail.slice(0, 200) : `unmapped_code_${outcome.unmappedCode}`,
        rows: submission.rows.map((row) =>
          move(
            row,
            'unknown',
            outcome.unmappedCode === null ? 'ambiguous_outcome' : 'unmapped_code',
            outcome.reply.reason,
            true,
          ),
        ),
      };
  }
}

/** What the provider holds has no record to read before it is sent. */
function heldMs(submission: MarkedSubmission, nowMs: number): number {
  const until = submission.rows[0]?.holdUntil ?? null;
  return until === null ? 0 : Math.max(0, until.getTime() - nowMs);
}

/**
 * What the outcome says about its route. Throttling and our own send budget say nothing; a message that we could not build does
 * not either, since nobody was asked.
 */
function signOf(routeId: string, outcome: Outcome): { readonly breaker?: { routeId: string; sign: BreakerSign } } {
  const sign = breakerSign(outcome);
  return sign === null ? {} : { breaker: { routeId, sign } };
}

/** Too fast: the whole route waits as long as the provider says, or for the first pause of a retry. */
function throttleOf(
  routeId: string,
  outcome: Outcome,
  policy: JudgePolicy,
): { readonly throttle?: { routeId: string; forMs: number } } {
  if (outcome.kind !== 'refused' || outcome.scope !== 'throttled') return {};
  return { throttle: { routeId, forMs: outcome.retryAfterMs ?? policy.retry.baseMs } };
}

function breakerSign(outcome: Outcome): BreakerSign | null {
  switch (outcome.kind) {
    case 'accepted':
      return 'alive';
    case 'ambiguous':
      return 'failure';
    case 'not_sent':
      return outcome.proof === 'send_budget' ? null : 'failure';
    case 'refused':
      if (outcome.scope === 'account') return 'trip';
      if (outcome.scope === 'throttled' || outcome.reply.httpStatus === null) return null;
      return 'alive';
  }
}

function refusedRow(
  row: MarkedRow,
  outcome: Extract<Outcome, { kind: 'refused' }>,
  policy: JudgePolicy,
  nowMs: number,
): RowOutcome {
  const cause = outcome.reply.reason;
  switch (outcome.scope) {
    case 'permanent':
      return move(row, 'rejected', outcome.reply.statusCode === null ? 'not_buildable' : 'refused', cause, true);
    case 'temporary': {
      const tries = row.attemptCount + 1;
      if (tries >= policy.retry.tries) return move(row, 'rejected', 'attempts_exhausted', cause, true);
      return {
        ...move(row, 'retry', 'refused_for_now', cause, true),
        retryInMs: atLeast(outcome.retryAfterMs, retryPauseMs(policy.retry, tries, policy.dice())),
      };
    }
    case 'account':
    case 'throttled':
      // The account's or the route's trouble, not this message's: no try is used up, submit_by is the bound.
      return {
        ...move(row, 'retry', `refused_${outcome.scope}`, cause, false),
        retryInMs: atLeast(
          outcome.retryAfterMs,
          outagePauseMs(policy.retry, nowMs - row.createdAt.getTime(), policy.dice()),
        ),
      };
  }
}

/** The provider's own wish, where it is longer than ours. */
const atLeast = (wishedMs: number | null, pauseMs: number) => Math.max(wishedMs ?? 0, pauseMs);

function move(
  row: MarkedRow,
  to: RowOutcome['to'],
  reason: string | null,
  cause: string | null,
  countsAsAttempt: boolean,
): RowOutcome {
  return { id: row.id, createdAt: row.createdAt, to, reason, cause, countsAsAttempt, retryInMs: null };
}
