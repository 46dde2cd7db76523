/** What is known about a request that no record of the provider shows. Instants in ms, by our clock. */
export interface AbsenceFacts {
  /** When the read of the report began. */
  readonly readAtMs: number;
  /** All pages of all days around the request, unfiltered, for this account and channel. */
  readonly complete: boolean;
  /** Requests of ours that we know were accepted shortly before, and shortly after, by the provider's own reply. */
  readonly knownBefore: number;
  readonly knownAfter: number;
  /** How many of those the report does not show. */
  readonly knownMissing: number;
  /**
   * Records in those days that no message of ours owns and that may be this one's: of this recipient, whatever sender they name,
   * and those that name no readable number.
   */
  readonly looseRecords: number;
  /** Receipts of this recipient that came since the request and match nothing yet, hints included. */
  readonly waitingReceipts: number;
  /** Our own reply, unclear as it was, named a transaction. */
  readonly transactionNamed: boolean;
  /** More is known around the request than was compared. */
  readonly knownCut: boolean;
  /** The later of mark and schedule. */
  readonly requestedAtMs: number;
  /** How long a record may be missing from the report after that. */
  readonly settleMs: number;
  /** The provider's clock minus ours, ms, from known pairs; null: none known. */
  readonly clockOffsetMs: number | null;
  readonly clockPairs: number;
  /** The worker that marked has said that it holds no open request, or has ended. */
  readonly senderIsDone: boolean;
  /** Whether the provider was to hold it, and what its list of held requests says. `not_read`: it could not be read whole. */
  readonly schedule: 'none' | 'not_read' | 'listed' | 'not_listed';
}

export type AbsenceDoubt =
  | 'report_incomplete'
  | 'nothing_known_before'
  | 'nothing_known_after'
  | 'known_missing'
  | 'loose_records'
  | 'receipt_waiting'
  | 'transaction_named'
  | 'known_cut'
  | 'not_settled'
  | 'clock_unknown'
  | 'clock_off'
  | 'worker_may_hold_it'
  | 'schedule_not_read'
  | 'schedule_listed';

/** A provider's clock further off than this is a wrong zone or a broken clock, and days read by it are other days. */
export const CLOCK_TOLERANCE_MS = 5 * 60_000;
/** Pairs of a request and its record after which the provider's clock counts as known. */
export const CLOCK_PAIRS_NEEDED = 2;

/**
 * Everything that stands between "there is no record" and "it was not sent". Absence is proof only if nothing does: the list
 * of conditions is section 5 of the design, and there is no other.
 */
export function doubtsAboutAbsence(facts: AbsenceFacts): AbsenceDoubt[] {
  const doubts: AbsenceDoubt[] = [];
  if (!facts.complete) doubts.push('report_incomplete');
  if (facts.knownBefore < 1) doubts.push('nothing_known_before');
  // A report that lags shows what was before and not what came with or after.
  if (facts.knownAfter < 1) doubts.push('nothing_known_after');
  if (facts.knownMissing > 0) doubts.push('known_missing');
  if (facts.knownCut) doubts.push('known_cut');
  if (facts.looseRecords > 0) doubts.push('loose_records');
  if (facts.waitingReceipts > 0) doubts.push('receipt_waiting');
  if (facts.transactionNamed) doubts.push('transaction_named');
  if (facts.readAtMs < facts.requestedAtMs + facts.settleMs) doubts.push('not_settled');
  if (facts.clockOffsetMs === null || facts.clockPairs < CLOCK_PAIRS_NEEDED) doubts.push('clock_unknown');
  else if (Math.abs(facts.clockOffsetMs) > CLOCK_TOLERANCE_MS) doubts.push('clock_off');
  if (!facts.senderIsDone) doubts.push('worker_may_hold_it');
  if (facts.schedule === 'not_read') doubts.push('schedule_not_read');
  if (facts.schedule === 'listed') doubts.push('schedule_listed');
  return doubts;
}

/** Before and after a request, within which its record is looked for: the provider writes it when it takes the message. */
const WINDOW_BEFORE_MS = 2 * 60_000;
const WINDOW_AFTER_MS = 10 * 60_000;
/** Where the provider's clock is not known, it may be in any zone there is. */
const ANY_ZONE_MS = 14 * 3_600_000;

/** The window of a request in which its record may lie, by our clock. */
export function windowOf(
  requestedAtMs: number,
  clockKnown: boolean,
  /** What a provider holds may get its record when it is taken, or when it is sent. */
  heldUntilMs: number | null = null,
): { readonly fromMs: number; readonly toMs: number } {
  const slack = clockKnown ? 0 : ANY_ZONE_MS;
  return {
    fromMs: requestedAtMs - WINDOW_BEFORE_MS - slack,
    toMs: Math.max(requestedAtMs, heldUntilMs ?? 0) + WINDOW_AFTER_MS + slack,
  };
}
