import {
  durably,
  RECEIPTS_AT_ONCE,
  type ReceiptOrigin,
  rejudgeReceipts,
  takeWaitingReceipts,
  type WaitingReceipt,
} from '@sendledger/core/ledger';
import type { Adapter } from '@sendledger/gateway';
import type { AppContext, Round } from '@sendledger/worker';
import { isRefusalOfData } from './database-says.ts';
import type { ReceiptKeeper } from './keep-receipts.ts';
import { closeWord, type OpenWord, openWordsOf } from './mapped-words.ts';
import { setAside } from './set-aside-receipt.ts';

/**
 * Looks again at receipts that are stored and not applied: their row was not ready or not known yet, their word was not mapped, or
 * whoever stored them died before it could apply them. In bounded batches, and safe in many copies.
 */
export class WaitingReceipts {
  readonly #context: AppContext;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  readonly #keeper: Pick<ReceiptKeeper, 'apply'>;
  /** Words that this process can judge and that people were asked about before it started, by provider. */
  #answered: Map<string, OpenWord[]> | undefined;

  /** @param adapters by `provider/account`; receipts of other accounts are left to the processes that can judge them. */
  constructor(context: AppContext, adapters: ReadonlyMap<string, Adapter>, keeper: Pick<ReceiptKeeper, 'apply'>) {
    this.#context = context;
    this.#adapters = adapters;
    this.#keeper = keeper;
  }

  round = async (): Promise<Round> => {
    const { pool, log } = this.#context;
    let rejudged = 0;
    const taken = await durably(pool, async (sql) => {
      const waiting = await takeWaitingReceipts(sql, RECEIPTS_AT_ONCE, [...this.#adapters.keys()]);
      const mapped = this.#mappedSince(waiting);
      await rejudgeReceipts(sql, mapped);
      rejudged = mapped.length;
      return waiting;
    });
    if (rejudged > 0) log.info({ receipts: rejudged }, 'receipts_rejudged');
    for (const group of Map.groupBy(taken, ({ origin }) => nameOf(origin)).values()) await this.#apply(group);
    await this.#closeWords();
    return taken.length >= RECEIPTS_AT_ONCE ? 'more' : 'none';
  };

  /** The status of a hint decides nothing, and stays what its push said. */
  #mappedSince(waiting: readonly WaitingReceipt[]) {
    return waiting.flatMap((receipt) => {
      if (receipt.status !== 'unmapped' || receipt.origin.hint === true) return [];
      const { statusWord, cause, hash, receivedMonth } = receipt;
      const judged = this.#adapters.get(accountOf(receipt.origin))?.judgeStatus(statusWord, cause);
      return judged === undefined || judged.status === 'unmapped' ? [] : [{ hash, receivedMonth, ...judged }];
    });
  }

  /** One that the database refuses for what it holds must not keep the others waiting: it is found by halving. */
  async #apply(receipts: readonly WaitingReceipt[]): Promise<void> {
    const [first] = receipts;
    if (first === undefined) return;
    try {
      await this.#keeper.apply(
        first.origin,
        receipts.map((receipt) => receipt.hash),
      );
    } catch (err) {
      if (!isRefusalOfData(err)) throw err;
      if (receipts.length > 1) {
        const middle = Math.ceil(receipts.length / 2);
        await this.#apply(receipts.slice(0, middle));
        await this.#apply(receipts.slice(middle));
        return;
      }
      this.#context.log.error({ err, receipt: first.hash.toString('hex') }, 'receipt_not_applied');
      await durably(this.#context.pool, (sql) => setAside(sql, first));
    }
  }

  /** What a word means changes with a restart only, so that only words asked about before it can be answered by it. */
  async #closeWords(): Promise<void> {
    const { sql, log } = this.#context;
    if (this.#answered === undefined) {
      const found = new Map<string, OpenWord[]>();
      for (const adapter of this.#adapters.values())
        if (!found.has(adapter.provider))
          found.set(
            adapter.provider,
            (await openWordsOf(sql, adapter.provider)).filter(
              ({ word }) => adapter.judgeStatus(word, null).status !== 'unmapped',
            ),
          );
      this.#answered = found;
    }
    for (const [provider, words] of this.#answered)
      for (const word of [...words]) {
        if (!(await durably(this.#context.pool, (tx) => closeWord(tx, provider, word)))) continue;
        words.splice(words.indexOf(word), 1);
        log.info({ provider, review: word.id }, 'unmapped_word_closed');
      }
  }
}

const accountOf = (origin: ReceiptOrigin) => `${origin.provider}/${origin.account}`;
const nameOf = (origin: ReceiptOrigin) =>
  `${origin.routeId} ${origin.source} ${origin.hint === true} ${accountOf(origin)}`;
