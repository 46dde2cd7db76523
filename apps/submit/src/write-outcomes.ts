import {
  type AppliedOutcomes,
  applyOutcomes,
  applyRowByRow,
  durably,
  openReview,
  type RowRef,
  type SubmissionOutcome,
} from '@sendledger/core/ledger';
import type { Log } from '@sendledger/worker';
import type pg from 'pg';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5_000;
/** When what became of rows set apart is looked for first, where nobody says better. */
const FIRST_LOOK_MS = 30_000;
const NOTHING: AppliedOutcomes = { submissions: [], rows: 0, late: 0, stale: [], breakers: [], replayed: [] };

/** What is said of an outcome that cannot be written as what it is. */
export interface SetApart {
  /** The route of all of them, whose breaker counts it as a failure; without it the outcome's own, where it names one. */
  readonly routeId?: string;
  /** When their fate is looked for first, where the outcome does not say. */
  readonly pollInMs: number;
}

/**
 * Writes outcomes until they are written. A reply is evidence that nobody else has: a database that is away is waited for;
 * a row that cannot be written is set apart by bisection and reviewed, and the others go on, of other requests and of its own.
 */
export async function writeOutcomes(
  pool: pg.Pool,
  log: Log,
  outcomes: readonly SubmissionOutcome[],
  apart: SetApart = { pollInMs: FIRST_LOOK_MS },
): Promise<AppliedOutcomes> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await durably(pool, 'outcome', (sql) => applyOutcomes(sql, outcomes));
    } catch (err) {
      if (isAboutData(err)) return setApart(pool, log, outcomes, apart, err);
      log.warn({ err, submissions: outcomes.length }, 'outcome_write_delayed');
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** Class 22 (data exception) and 23 (integrity): the same rows would fail again. Everything else may pass by itself. */
function isAboutData(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && (code.startsWith('22') || code.startsWith('23'));
}

async function setApart(
  pool: pg.Pool,
  log: Log,
  outcomes: readonly SubmissionOutcome[],
  apart: SetApart,
  cause: unknown,
): Promise<AppliedOutcomes> {
  if (outcomes.length > 1) {
    const half = Math.ceil(outcomes.length / 2);
    const first = await writeOutcomes(pool, log, outcomes.slice(0, half), apart);
    const second = await writeOutcomes(pool, log, outcomes.slice(half), apart);
    return {
      submissions: [...first.submissions, ...second.submissions],
      rows: first.rows + second.rows,
      late: first.late + second.late,
      stale: [...first.stale, ...second.stale],
      breakers: [...first.breakers, ...second.breakers],
      replayed: [...first.replayed, ...second.replayed],
    };
  }
  const [outcome] = outcomes;
  if (outcome === undefined) return NOTHING;
  const bare = withoutForeignText(outcome);
  if (bare !== outcome) {
    try {
      return await durably(pool, (sql) => applyOutcomes(sql, [bare]));
    } catch (err) {
      if (!isAboutData(err)) return writeOutcomes(pool, log, [bare], apart);
    }
  }
  if (bare.state === 'accepted' && bare.rows.length > 1) {
    try {
      return await rowByRow(pool, log, bare);
    } catch (err) {
      if (!isAboutData(err)) return writeOutcomes(pool, log, [bare], apart);
    }
  }
  // Not even without the provider's words: the rows are unknown, and a person looks at what came. Should even that fail, the
  // lease ends the same way.
  const settled = await writeUnknown(pool, log, allUnknown(bare, apart));
  log.error({ err: cause, submission: outcome.id }, 'outcome_not_writable');
  const review = durably(pool, (sql) =>
    openReview(sql, {
      kind: 'outcome_not_writable',
      subject: `submission ${outcome.id}`,
      submission: outcome,
      evidence: {
        state: outcome.state,
        provider_txn_id: printable(outcome.providerTxnId),
        http_status: outcome.httpStatus,
      },
    }),
  );
  // The log line above has it; the others must not suffer.
  await review.catch((err) => log.warn({ err, submission: outcome.id }, 'review_not_opened'));
  return settled ?? { ...NOTHING, stale: [outcome.id] };
}

/** Only the rows that cannot be written are unknown; a person is told of each. */
async function rowByRow(pool: pg.Pool, log: Log, outcome: SubmissionOutcome): Promise<AppliedOutcomes> {
  const apart: RowRef[] = [];
  const applied = await durably(pool, async (sql) => {
    // From the start, should the transaction be tried again.
    apart.length = 0;
    return applyRowByRow(sql, outcome, isAboutData, (row) => apart.push(row));
  });
  for (const row of apart) {
    log.error({ submission: outcome.id, message: row.id }, 'outcome_not_writable');
    await durably(pool, (sql) =>
      openReview(sql, {
        kind: 'outcome_not_writable',
        subject: `message ${row.id}`,
        message: row,
        submission: outcome,
        evidence: { state: outcome.state, provider_txn_id: outcome.providerTxnId },
      }),
    ).catch((err) => log.warn({ err, message: row.id }, 'review_not_opened'));
  }
  return applied;
}

/**
 * With the transaction that the provider named, by which its report settles the rows; without it only where it is what cannot be
 * stored. Null: not even that.
 */
async function writeUnknown(pool: pg.Pool, log: Log, unknown: SubmissionOutcome): Promise<AppliedOutcomes | null> {
  const tries = unknown.providerTxnId === null ? [unknown] : [unknown, { ...unknown, providerTxnId: null }];
  // Not for ever, as elsewhere: the end of the lease says the same of the rows.
  for (const outcome of tries)
    for (let pauseMs = FIRST_PAUSE_MS; pauseMs <= LONGEST_PAUSE_MS; pauseMs *= 2) {
      try {
        return await durably(pool, (sql) => applyOutcomes(sql, [outcome]));
      } catch (err) {
        log.warn({ err, submission: outcome.id, with_txn_id: outcome.providerTxnId !== null }, 'unknown_not_written');
        if (isAboutData(err)) break;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  return null;
}

/**
 * What is left to say when nothing else can be stored: nobody knows, so it is looked for like any other. It counts as a failure of
 * its route: a reply that is lost each time must stop the sending, whatever it said.
 */
function allUnknown(outcome: SubmissionOutcome, apart: SetApart): SubmissionOutcome {
  const routeId = apart.routeId ?? outcome.breaker?.routeId ?? outcome.throttle?.routeId;
  // That nothing of the account will pass is more than a failure, and stays.
  const sign = outcome.breaker?.sign === 'trip' ? 'trip' : 'failure';
  return {
    ...outcome,
    ...(routeId === undefined ? {} : { breaker: { routeId, sign } as const }),
    state: 'ambiguous',
    reason: 'outcome_not_writable',
    proof: null,
    statusCode: null,
    rawReply: null,
    pollInMs: outcome.pollInMs ?? apart.pollInMs,
    rows: outcome.rows.map((row) => ({
      ...row,
      to: 'unknown',
      reason: 'outcome_not_writable',
      cause: null,
      countsAsAttempt: true,
      retryInMs: null,
    })),
  };
}

/** The same outcome with only what the ledger itself wrote: bad bytes come from outside. */
function withoutForeignText(outcome: SubmissionOutcome): SubmissionOutcome {
  return {
    ...outcome,
    rawReply: null,
    statusCode: printable(outcome.statusCode),
    providerTxnId: printable(outcome.providerTxnId),
    reason: printable(outcome.reason) ?? 'unprintable',
    rows: outcome.rows.map((row) => ({ ...row, cause: printable(row.cause) })),
  };
}

function printable(text: string | null): string | null {
  return text === null
    ? null
    : text
        .toWellFormed()
        .replaceAll(/\p{Cc}/gu, '')
        .slice(0, 1_000);
}
