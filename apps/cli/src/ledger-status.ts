import {
  type AliveWorkers,
  aliveWorkers,
  type ClassGauge,
  classGauges,
  type LedgerSummary,
  ledgerSummary,
  type OpenReviews,
  openReviewCounts,
  type Sql,
} from '@sendledger/core/ledger';

/** A process that did not beat for this long is not counted as alive. */
export const ALIVE_WITHIN_MS = 30_000;

export interface LedgerStatus extends LedgerSummary {
  readonly at: Date;
  readonly since: Date;
  readonly classes: readonly ClassGauge[];
  readonly workers: readonly AliveWorkers[];
  readonly reviews: readonly OpenReviews[];
}

export async function readStatus(sql: Sql, since: Date): Promise<LedgerStatus> {
  return {
    at: new Date(),
    since,
    ...(await ledgerSummary(sql, since)),
    classes: await classGauges(sql),
    workers: await aliveWorkers(sql, ALIVE_WITHIN_MS),
    reviews: await openReviewCounts(sql),
  };
}
