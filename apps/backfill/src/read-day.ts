import { type BackfillDay, durably, holdBackfillDay, type ReceiptOrigin } from '@sendledger/core/ledger';
import { at } from '@sendledger/core/points';
import type { Adapter, DayAnswer, DayRows } from '@sendledger/gateway';
import { type AppContext, type ReceiptKeeper, toReceipt } from '@sendledger/worker';
import { DayLost, Stopping } from './day-lost.ts';
import { storeRows } from './store-rows.ts';

const ALIVE_EVERY_MS = 10_000;

export interface ReadPolicy {
  readonly leaseMs: number;
  /** Bad rows kept of each day. */
  readonly badRowsKept: number;
}

/** A day's report as it was stored. */
export type StoredDay =
  | Exclude<DayAnswer, { kind: 'read' }>
  | (Extract<DayAnswer, { kind: 'read' }> & { refusedRows: number });

/**
 * Reads one day by one call and stores what it says, part by part, before anything is done about it. What is stored twice is one
 * receipt, so that a read which was cut off is simply made again.
 *
 * @throws DayLost, Stopping
 */
export async function readDay(
  context: Pick<AppContext, 'pool'>,
  adapter: Adapter,
  keeper: Pick<ReceiptKeeper, 'store'>,
  day: BackfillDay,
  origin: ReceiptOrigin,
  policy: ReadPolicy,
  signal: AbortSignal,
  alive: () => void,
): Promise<StoredDay> {
  let room = policy.badRowsKept;
  let refusedRows = 0;
  const onRows = async ({ records, bad }: DayRows) => {
    alive();
    if (signal.aborted) throw new Stopping();
    const kept = bad.slice(0, room);
    room -= kept.length;
    const receipts = records.map((record) => toReceipt(record));
    refusedRows += await storeRows(keeper, day, origin, policy.leaseMs, { receipts, bad: kept });
  };
  const onFetched = async () => {
    await at('backfill: day fetched');
    alive();
    if (!(await durably(context.pool, (sql) => holdBackfillDay(sql, day, policy.leaseMs)))) throw new DayLost();
  };
  // An answer on its way and an archive that is checked show nothing for minutes; both are bounded, by the deadline and by the limits.
  const moving = setInterval(alive, ALIVE_EVERY_MS);
  try {
    const answer = await adapter.dayReport({ day: day.day, zone: day.zone }, { onFetched, onRows }, signal);
    return answer.kind === 'read' ? { ...answer, refusedRows } : answer;
  } finally {
    clearInterval(moving);
  }
}
