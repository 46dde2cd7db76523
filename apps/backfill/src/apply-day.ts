import {
  type BackfillDay,
  countOrphans,
  durably,
  holdBackfillDay,
  RECEIPTS_AT_ONCE,
  type ReceiptOrigin,
  unappliedOfDay,
} from '@sendledger/core/ledger';
import { type AppContext, applyApart, type ReceiptKeeper } from '@sendledger/worker';
import { DayLost, Stopping } from './day-lost.ts';

/**
 * Applies the receipts of a day that is stored, through the one way of a receipt, some at a time. What was applied already is not in the
 * way, so that it begins anew after whatever stopped it. Answers how many records match no message.
 *
 * @throws DayLost, Stopping
 */
export async function applyDay(
  context: Pick<AppContext, 'pool' | 'log'>,
  keeper: Pick<ReceiptKeeper, 'apply'>,
  day: BackfillDay,
  origin: ReceiptOrigin,
  leaseMs: number,
  signal: AbortSignal,
  alive: () => void,
): Promise<number> {
  const { pool } = context;
  let orphans = 0;
  // A place in this walk and nothing that is kept: the next walk begins at the beginning.
  let after: Buffer = Buffer.alloc(0);
  for (;;) {
    alive();
    if (signal.aborted) throw new Stopping();
    if (!(await durably(pool, (sql) => holdBackfillDay(sql, day, leaseMs)))) throw new DayLost();
    const waiting = await unappliedOfDay(pool, day.id, after, RECEIPTS_AT_ONCE);
    const last = waiting.at(-1);
    if (last === undefined) return orphans;
    await applyApart(context, (hashes) => keeper.apply(origin, hashes), waiting);
    orphans += await countOrphans(
      pool,
      day.id,
      waiting.map(({ hash }) => hash),
    );
    after = last.hash;
  }
}
