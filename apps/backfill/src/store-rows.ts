import {
  type BackfillDay,
  holdBackfillDay,
  type KeptBadRow,
  keepBadRows,
  noteBackfillReceipts,
  type ReceiptOrigin,
  type ReceiptRecord,
} from '@sendledger/core/ledger';
import { isRefusalOfData, type ReceiptKeeper } from '@sendledger/worker';
import { DayLost } from './day-lost.ts';

export interface RowsToStore {
  readonly receipts: readonly ReceiptRecord[];
  readonly bad: readonly KeptBadRow[];
}

/**
 * Stores a part of a day: its receipts as evidence, that this day brought them, and the bad rows, all in one transaction that also asks
 * whether the day is still ours. A record that the database refuses for what it holds is found by halving and left out; answers how many.
 *
 * @throws DayLost
 */
export async function storeRows(
  keeper: Pick<ReceiptKeeper, 'store'>,
  day: BackfillDay,
  origin: ReceiptOrigin,
  leaseMs: number,
  { receipts, bad }: RowsToStore,
): Promise<number> {
  try {
    await keeper.store(origin, receipts, async (sql, hashes) => {
      if (!(await holdBackfillDay(sql, day, leaseMs))) throw new DayLost();
      await noteBackfillReceipts(sql, day, hashes);
      await keepBadRows(sql, day, bad);
    });
    return 0;
  } catch (error) {
    if (!isRefusalOfData(error) || receipts.length === 0) throw error;
    if (receipts.length === 1 && bad.length === 0) return 1;
    const middle = Math.ceil(receipts.length / 2);
    const [first, second] =
      receipts.length === 1 ? [[], receipts] : [receipts.slice(0, middle), receipts.slice(middle)];
    const left = await storeRows(keeper, day, origin, leaseMs, { receipts: first, bad });
    return left + (await storeRows(keeper, day, origin, leaseMs, { receipts: second, bad: [] }));
  }
}
