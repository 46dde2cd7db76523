import {
  type AppliedReceipts,
  applyReceipts,
  durably,
  learnClock,
  type MovedRow,
  RECEIPTS_AT_ONCE,
  type ReceiptOrigin,
  type ReceiptRecord,
  recordReceipts,
  resolveReviewOf,
  type Sql,
  sweepCancelled,
} from '@sendledger/core/ledger';
import type { AppContext } from '../app.ts';
import { Counter } from '../metrics.ts';
import { movedLine } from './moved-line.ts';

export interface KeptReceipts {
  readonly fresh: number;
  readonly delivered: number;
  readonly failed: number;
  readonly proven: number;
  readonly conflicts: number;
  readonly billed: number;
  readonly waiting: number;
}

/** Questions that a row's own evidence answers. */
export const ANSWERED_BY_EVIDENCE = ['correlation_ambiguous', 'absence_not_proven', 'no_report_to_ask'] as const;

/**
 * The one way of a receipt, wherever it came from: stored first and applied after, in two transactions. A crash between them
 * loses nothing, because what is stored and not applied is looked at again. What an applied receipt asks for (the end of a
 * successor, the provider's clock) follows the commit.
 */
export class ReceiptKeeper {
  readonly #context: AppContext;
  readonly #effects: Counter<'effect'>;
  readonly #unmapped: Counter;

  constructor(context: AppContext) {
    this.#context = context;
    this.#effects = new Counter({
      name: 'sendledger_receipts_total',
      help: 'Receipts by what they did.',
      labelNames: ['effect'],
      registers: [context.registry],
    });
    this.#unmapped = new Counter({
      name: 'sendledger_unmapped_receipts_total',
      help: 'Receipts read with a status word that nobody has mapped; their rows stay where they are.',
      registers: [context.registry],
    });
  }

  async keep(origin: ReceiptOrigin, records: readonly ReceiptRecord[]): Promise<KeptReceipts> {
    let total: KeptReceipts = { fresh: 0, delivered: 0, failed: 0, proven: 0, conflicts: 0, billed: 0, waiting: 0 };
    for (let at = 0; at < records.length; at += RECEIPTS_AT_ONCE) {
      const { hashes, fresh } = await this.store(origin, records.slice(at, at + RECEIPTS_AT_ONCE));
      const applied = await this.apply(origin, hashes);
      total = {
        fresh: total.fresh + fresh,
        delivered: total.delivered + applied.delivered,
        failed: total.failed + applied.failed,
        proven: total.proven + applied.proven,
        conflicts: total.conflicts + applied.conflicts,
        billed: total.billed + applied.billed,
        waiting: total.waiting + applied.waiting,
      };
    }
    return total;
  }

  /**
   * On disk when this returns. At most `RECEIPTS_AT_ONCE`.
   *
   * @param also what has to be on disk with them or not at all, e.g. which run brought them; in the same transaction.
   */
  async store(
    origin: ReceiptOrigin,
    records: readonly ReceiptRecord[],
    also: (sql: Sql, hashes: readonly Buffer[]) => Promise<void> = async () => undefined,
  ): Promise<{ readonly hashes: readonly Buffer[]; readonly fresh: number }> {
    const stored = await durably(this.#context.pool, 'receipts stored', async (sql) => {
      const recorded = await recordReceipts(sql, origin, records);
      await also(sql, recorded.hashes);
      return recorded;
    });
    if (stored.fresh > 0) this.#unmapped.inc(records.filter((record) => record.status === 'unmapped').length);
    return stored;
  }

  async apply(origin: ReceiptOrigin, hashes: readonly Buffer[]): Promise<AppliedReceipts> {
    const { pool, log } = this.#context;
    const moved: MovedRow[] = [];
    const applied = await durably(pool, 'receipts applied', async (sql) => {
      moved.length = 0;
      const done = await applyReceipts(sql, origin, hashes, (row) => moved.push(row));
      await resolveReviewOf(sql, done.settled, ANSWERED_BY_EVIDENCE, 'the provider reported it');
      return done;
    });
    for (const row of moved) log.info(movedLine(row), 'receipt_applied');
    this.#effects.inc({ effect: 'delivered' }, applied.delivered);
    this.#effects.inc({ effect: 'failed' }, applied.failed);
    this.#effects.inc({ effect: 'proven' }, applied.proven);
    this.#effects.inc({ effect: 'conflict' }, applied.conflicts);
    this.#effects.inc({ effect: 'billed_after_close' }, applied.billed);
    this.#effects.inc({ effect: 'hint' }, applied.hinted);
    await this.#follow(origin, applied);
    return applied;
  }

  async #follow(origin: ReceiptOrigin, applied: AppliedReceipts): Promise<void> {
    const { pool, log } = this.#context;
    // Each by itself: none of them is evidence. A successor that is missed here is found by the sweep.
    for (const successor of applied.successors)
      await this.#try('successor_not_cancelled', async () => {
        const answer = await sweepCancelled(pool, successor);
        log.warn({ message: successor.id, answer }, 'successor_cancelled');
      });
    await this.#try('clock_not_learned', () =>
      durably(pool, (sql) => learnClock(sql, origin.routeId, applied.clockOffsetsMs)),
    );
  }

  async #try(event: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (err) {
      this.#context.log.warn({ err }, event);
    }
  }
}
