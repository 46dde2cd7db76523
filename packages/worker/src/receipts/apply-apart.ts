import { durably, setAsideReceipt, type WaitingReceipt } from '@sendledger/core/ledger';
import type { AppContext } from '../app.ts';
import { isRefusalOfData } from './database-says.ts';

type Kept = Pick<WaitingReceipt, 'hash' | 'receivedMonth'>;

/**
 * Applies receipts together. One that the database refuses for what it holds must not keep the others waiting: it is found by halving,
 * and set aside.
 */
export async function applyApart(
  context: Pick<AppContext, 'pool' | 'log'>,
  apply: (hashes: readonly Buffer[]) => Promise<unknown>,
  receipts: readonly Kept[],
): Promise<void> {
  const [first] = receipts;
  if (first === undefined) return;
  try {
    await apply(receipts.map((receipt) => receipt.hash));
  } catch (err) {
    if (!isRefusalOfData(err)) throw err;
    if (receipts.length > 1) {
      const middle = Math.ceil(receipts.length / 2);
      await applyApart(context, apply, receipts.slice(0, middle));
      await applyApart(context, apply, receipts.slice(middle));
      return;
    }
    context.log.error({ err, receipt: first.hash.toString('hex') }, 'receipt_not_applied');
    await durably(context.pool, (sql) => setAsideReceipt(sql, first));
  }
}
