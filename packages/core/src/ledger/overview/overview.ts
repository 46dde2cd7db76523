import { MESSAGE_CLASSES, type MessageChannel, type MessageClass } from '../../domain/state.ts';
import { type AuditState, auditStates } from '../audits/audit-run.ts';
import { strayRows } from '../gauges.ts';
import type { ReceiptSource } from '../receipt-record.ts';
import { rowsOf, type Sql } from '../sql.ts';
import { type AliveWorkers, aliveWorkers } from '../workers-alive.ts';
import { type Census, type CensusCell, noMessages, readCensus } from './census.ts';
import { type LaneNow, lanesNow } from './lanes-now.ts';
import { type ReviewKind, reviewKinds } from './open-reviews.ts';
import { lastReceiptSeconds, receiptAges } from './receipt-ages.ts';

/** One class on one channel: what was counted, and how old the oldest due message is right now. */
export interface OverviewCell extends CensusCell {
  readonly oldestDueSeconds: number;
}

/** What an operator sees first. Everything but what the census counted is as of {@link at}. */
export interface Overview {
  /** By the database's clock. */
  readonly at: Date;
  /** Whether this dataset may send; null where nobody said to which environment it belongs. */
  readonly dataset: { readonly status: string; readonly reason: string | null } | null;
  readonly lanes: readonly LaneNow[];
  /** Every class and channel that has a lane or a message, zeros included. */
  readonly cells: readonly OverviewCell[];
  readonly census: Census | null;
  /** Null: there never was a receipt. */
  readonly lastReceiptSeconds: number | null;
  readonly receiptAges: Readonly<Record<ReceiptSource, number>>;
  readonly reviews: readonly ReviewKind[];
  readonly workers: readonly AliveWorkers[];
  readonly strayRows: number;
  readonly audits: readonly AuditState[];
}

/** A process that did not beat for this long is not counted as alive. */
const ALIVE_WITHIN_MS = 30_000;

/** Reads it, each figure by a few steps into an index. */
export async function readOverview(sql: Sql): Promise<Overview> {
  const [now] = await rowsOf<{ at: Date; status: string | null; reason: string | null }>(
    sql,
    `select now() as at, e.status, e.status_reason as reason from (select 1) one left join sendledger.dataset_epoch e on true`,
  );
  const lanes = await lanesNow(sql);
  const census = await readCensus(sql);
  const at = now?.at ?? new Date();
  return {
    at,
    dataset: typeof now?.status === 'string' ? { status: now.status, reason: now.reason } : null,
    lanes,
    cells: cellsOf(lanes, census?.cells ?? []),
    census,
    lastReceiptSeconds: await lastReceiptSeconds(sql),
    receiptAges: receiptAges(census?.newestReceipts ?? null, at),
    reviews: await reviewKinds(sql),
    workers: await aliveWorkers(sql, ALIVE_WITHIN_MS),
    strayRows: await strayRows(sql),
    audits: await auditStates(sql),
  };
}

function cellsOf(lanes: readonly LaneNow[], counted: readonly CensusCell[]): OverviewCell[] {
  const cells = new Map<string, OverviewCell>();
  const put = (messageClass: MessageClass, channel: MessageChannel) => {
    const here = (one: { messageClass: string; channel: string }) =>
      one.messageClass === messageClass && one.channel === channel;
    const own = lanes.filter(here).map((lane) => lane.oldestDueSeconds);
    cells.set(`${channel} ${MESSAGE_CLASSES.indexOf(messageClass)}`, {
      ...(counted.find(here) ?? nothingOf(messageClass, channel)),
      oldestDueSeconds: Math.max(0, ...own),
    });
  };
  for (const { messageClass, channel } of [...lanes, ...counted]) put(messageClass, channel);
  return [...cells].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, cell]) => cell);
}

const nothingOf = (messageClass: MessageClass, channel: MessageChannel): CensusCell => ({
  messageClass,
  channel,
  states: noMessages(),
  pendingRatio: 0,
  unknownShare: 0,
  submit: null,
  delivery: null,
});
