import { wakeSpread } from '@sendledger/core/ledger';
import type { AppContext, Round } from '@sendledger/worker';

/** How far the database's clock may be ahead of ours. */
const MARGIN_MS = 60_000;
/** An account's polls are woken, and its pushes complained of, this often at most. */
const AGAIN_MS = 60_000;

interface Account {
  /** Pushes that nobody could read since the last line in the log. */
  unread: number;
  toldAt: number;
  /** One came since its polls were woken last. */
  pending: boolean;
  wakeAgainAt: number;
}

/**
 * Pushes that said something nobody here can read: another set of fields, or more than is read of a body. They are answered and
 * kept nowhere, but that one came means that there is news: the reports that its account awaits are read soon, so that a provider
 * that changes its pushes costs latency and no receipt.
 */
export class UnreadPushes {
  readonly #context: Pick<AppContext, 'pool' | 'log'>;
  readonly #accounts = new Map<string, Account>();
  readonly #now: () => number;

  constructor(context: Pick<AppContext, 'pool' | 'log'>, now: () => number = () => performance.now()) {
    this.#context = context;
    this.#now = now;
  }

  /** @param account `provider/account`; only of a push that knew the secret. */
  saw(account: string, detail: string, bytes: number | null): void {
    const of = this.#accounts.get(account) ?? {
      unread: 0,
      toldAt: Number.NEGATIVE_INFINITY,
      pending: false,
      wakeAgainAt: Number.NEGATIVE_INFINITY,
    };
    this.#accounts.set(account, of);
    of.pending = true;
    of.unread++;
    if (this.#now() - of.toldAt < AGAIN_MS) return;
    this.#context.log.warn({ account, bytes, detail, pushes: of.unread }, 'push_unreadable');
    of.toldAt = this.#now();
    of.unread = 0;
  }

  round = async (): Promise<Round> => {
    for (const [account, of] of this.#accounts) {
      if (!of.pending || this.#now() < of.wakeAgainAt) continue;
      of.pending = false;
      of.wakeAgainAt = this.#now() + AGAIN_MS;
      try {
        const { woken } = await wakeSpread(this.#context.pool, [account], new Date(Date.now() + MARGIN_MS));
        if (woken > 0) this.#context.log.info({ account, woken }, 'push_unreadable_polls_woken');
      } catch (err) {
        of.pending = true;
        this.#context.log.warn({ err, account }, 'push_unreadable_polls_not_woken');
      }
    }
    return 'none';
  };
}
