import {
  durably,
  RECEIPTS_AT_ONCE,
  type ReceiptOrigin,
  rejudgeReceipts,
  takeWaitingReceipts,
  type WaitingReceipt,
} from '@sendledger/core/ledger';
import type { Adapter } from '@sendledger/gateway';
import { type AppContext, applyApart, type ReceiptKeeper, type Round } from '@sendledger/worker';
import { closeWord, type OpenWord, openWordsOf } from './mapped-words.ts';

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
    for (const group of Map.groupBy(taken, ({ origin }) => nameOf(origin)).values()) {
      const [first] = group;
      if (first !== undefined)
        await applyApart(this.#context, (hashes) => this.#keeper.apply(first.origin, hashes), group);
    }
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
