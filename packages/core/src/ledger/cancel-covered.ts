import { type CancelCounts, type CancelledMessage, cancelAnswer } from './cancel-answer.ts';
import { type CancellationFact, recordCovering } from './cancel-record.ts';
import { askCancelHeld, cancelStep, sweepUntil } from './cancel-step.ts';
import type { Cancellation } from './cancel-target.ts';
import type { RowRef } from './identity.ts';
import type { Sql } from './sql.ts';

/**
 * Runs `work` in a transaction of its own that is on disk when this returns (`durably`, with a pool). Each step of a
 * cancellation is one: what is seen by nobody yet stops nobody.
 */
export type OwnTransaction = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

export interface CancelOptions {
  /** Rows of one transaction. Default 1 000. */
  readonly batch?: number;
  /** Messages named in the report. Default 1 000; the counts are always whole. */
  readonly list?: number;
}

export interface CancelReport {
  /** Null where there is no such message, and nothing was written. */
  readonly cancellationId: string | null;
  /**
   * Covered messages by what became of them. Of a tenant: what this call cancelled, and what was on the wire or unknown at the
   * answer; not its history.
   */
  readonly counts: CancelCounts;
  /**
   * Nothing was found that is covered: there is no such message, key, event or campaign here (yet: for all but a message the
   * fact stands, and covers what comes).
   */
  readonly notFound: boolean;
  /** A bounded list: the ones that were not cancelled first. `listedAll` says whether it is all of them. */
  readonly rows: readonly CancelledMessage[];
  readonly listedAll: boolean;
  /** By the clock of the database. No request of a covered message has a later time; null where nothing was written. */
  readonly answeredAt: Date | null;
  /** Messages made after it are not covered; null: every one is. */
  readonly coversUntil: Date | null;
  /** Messages that are too late here and that a provider still holds: it is asked to drop them. */
  readonly providerAsked: number;
  /** Lanes in which rows of others wait again, because they shared a submission with a covered one: wake them. */
  readonly lanes: ReadonlySet<string>;
}

/** Facts of a tenant's cancellation: each moves the end of what it covers on to the time of the answer. */
const MOST_FACTS = 10;

/**
 * Cancels whatever the target covers and has not left. The fact is committed first, so that every claim that starts later sees
 * it; then what waits is cancelled, waiting for row locks and never skipping, and submissions nobody marked are released, until
 * neither finds a row; then it answers. No request of a covered message has a time later than the answer, messages made
 * after the call included.
 *
 * Safe to break off and to repeat: the fact stands, and the same request again ends with the same answer.
 *
 * @throws SendledgerError SENDLEDGER_REASON_NEEDED before anything is written
 */
export async function cancelCovered(
  own: OwnTransaction,
  request: Cancellation,
  options: CancelOptions = {},
): Promise<CancelReport> {
  const fact = await own((sql) => recordCovering(sql, request));
  if (fact === null) return NO_SUCH_MESSAGE;
  const swept = new Swept(options.list ?? 1_000);
  await sweepUntilNothing(own, fact, swept, options);
  const last = await coverUntilNow(own, request, fact, swept, options);
  return report(own, last, swept, options, request.target.kind === 'tenant');
}

/**
 * The rest of a cancellation whose fact was recorded in a transaction that has committed since: sweeps, and answers.
 *
 * @throws whatever the database says; a fact that is not there (its transaction rolled back) covers nothing
 */
export async function finishCancellation(
  own: OwnTransaction,
  fact: CancellationFact,
  tenantWide: boolean,
  options: CancelOptions = {},
): Promise<CancelReport> {
  const swept = new Swept(options.list ?? 1_000);
  await sweepUntilNothing(own, fact, swept, options);
  return report(own, fact, swept, options, tenantWide);
}

/** The answer for a message that the tenant does not have. */
export const NO_SUCH_MESSAGE: CancelReport = {
  cancellationId: null,
  counts: { cancelled: 0, too_late: 0, unknown: 0 },
  notFound: true,
  rows: [],
  listedAll: true,
  answeredAt: null,
  coversUntil: null,
  providerAsked: 0,
  lanes: new Set(),
};

/** What the sweeps of one request did. */
class Swept {
  readonly lanes = new Set<string>();
  readonly cancelled: RowRef[] = [];
  count = 0;
  readonly #list: number;

  constructor(list: number) {
    this.#list = list;
  }

  add(cancelled: readonly RowRef[], lanes: readonly string[]): void {
    this.count += cancelled.length;
    this.cancelled.push(...cancelled.slice(0, Math.max(0, this.#list - this.cancelled.length)));
    for (const lane of lanes) this.lanes.add(lane);
  }
}

/** Page after page, and again from the start, until a whole pass finds nothing. Answers whether it found anything at all. */
async function sweepUntilNothing(
  own: OwnTransaction,
  fact: CancellationFact,
  swept: Swept,
  options: CancelOptions,
): Promise<boolean> {
  const limit = options.batch ?? 1_000;
  const until = await own(sweepUntil);
  let after = '0';
  let wait = false;
  let ever = false;
  for (;;) {
    const step = await own((sql) => cancelStep(sql, fact, { until, after, limit, wait }));
    swept.add(step.cancelled, step.lanes);
    if (step.found === 0) {
      if (after === '0') return ever;
      after = '0';
      continue;
    }
    ever = true;
    // All of the page was locked by others, or moved on meanwhile: the next step tells the two apart by waiting for one row.
    wait = !wait && step.cancelled.length === 0 && step.released === 0;
    if (!wait) after = step.last;
  }
}

/**
 * A tenant is covered up to the time of the answer unless another was given. A fact does not change, so each pass that found
 * something is followed by another fact with a later end, until a pass finds nothing (or they are many: then the answer says
 * up to when it covers).
 */
async function coverUntilNow(
  own: OwnTransaction,
  request: Cancellation,
  first: CancellationFact,
  swept: Swept,
  options: CancelOptions,
): Promise<CancellationFact> {
  const { target } = request;
  if (target.kind !== 'tenant' || (target.coversUntil ?? null) !== null) return first;
  let fact = first;
  for (let facts = 1; facts < MOST_FACTS; facts++) {
    fact = (await own((sql) => recordCovering(sql, request, first))) ?? fact;
    if (!(await sweepUntilNothing(own, fact, swept, options))) break;
  }
  return fact;
}

async function report(
  own: OwnTransaction,
  fact: CancellationFact,
  swept: Swept,
  options: CancelOptions,
  tenantWide: boolean,
): Promise<CancelReport> {
  const list = options.list ?? 1_000;
  const asked = new Set(await own((sql) => askCancelHeld(sql, fact)));
  const covered = await own((sql) => cancelAnswer(sql, fact, list));
  const answer = {
    ...covered,
    rows: covered.rows.map((row) => (asked.has(row.id) ? { ...row, providerAsked: true } : row)),
  };
  // What a tenant had cancelled long ago is not asked about; what was cancelled here is.
  const counts = tenantWide ? { ...answer.counts, cancelled: answer.counts.cancelled + swept.count } : answer.counts;
  const rows = tenantWide ? [...answer.rows, ...swept.cancelled.map(asCancelled)].slice(0, list) : answer.rows;
  const all = counts.cancelled + counts.too_late + counts.unknown;
  return {
    cancellationId: fact.id,
    counts,
    notFound: all === 0,
    rows,
    listedAll: rows.length === all,
    answeredAt: answer.answeredAt,
    coversUntil: fact.coversUntil,
    providerAsked: asked.size,
    lanes: swept.lanes,
  };
}

function asCancelled({ id, createdAt }: RowRef): CancelledMessage {
  return { id, createdAt, outcome: 'cancelled', heldUntil: null };
}
