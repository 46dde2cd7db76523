import { type DuePoll, durably, RECEIPTS_AT_ONCE, type ReceiptOrigin, takeDuePolls } from '@sendledger/core/ledger';
import type { Adapter, ReportAnswer } from '@sendledger/gateway';
import { type AppContext, Batcher, Counter, type ReceiptKeeper, type Round, toReceipt } from '@sendledger/worker';
import { endLooks } from './end-looks.ts';
import type { UnknownResolver } from './resolve-unknown.ts';

export interface ReportPolicy {
  readonly concurrency: number;
  readonly pauseMs: number;
  readonly longestPauseMs: number;
}

/** A report that was read. */
interface Look {
  readonly poll: DuePoll;
  readonly answer: ReportAnswer;
}

/** Looks a reader takes in one round: a round must end while the provider hangs on each of them. */
const LOOKS_A_READER = 5;

/**
 * Reads the delivery report of submissions by transaction, where there is one to ask by, and hands to the resolver what that
 * does not settle. What has been read is written while the others are still being read. No transaction is open while the
 * provider is asked.
 */
export class ReportReader {
  readonly #context: AppContext;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  readonly #policy: ReportPolicy;
  readonly #writers = new Map<string, Batcher<Look>>();
  readonly #reads: Counter<'answer'>;
  readonly #keeper: ReceiptKeeper;
  readonly #resolver: UnknownResolver;

  /** @param adapters by `provider/account`. */
  constructor(
    context: AppContext,
    adapters: ReadonlyMap<string, Adapter>,
    policy: ReportPolicy,
    keeper: ReceiptKeeper,
    resolver: UnknownResolver,
  ) {
    this.#context = context;
    this.#adapters = adapters;
    this.#policy = policy;
    this.#keeper = keeper;
    this.#resolver = resolver;
    this.#reads = new Counter({
      name: 'sendledger_report_reads_total',
      help: 'Reads of a delivery report by transaction, by answer.',
      labelNames: ['answer'],
      registers: [context.registry],
    });
  }

  round = async (): Promise<Round> => {
    const { concurrency, pauseMs, longestPauseMs } = this.#policy;
    const limit = concurrency * LOOKS_A_READER;
    const due = await durably(this.#context.pool, 'look', (sql) =>
      takeDuePolls(sql, {
        limit,
        firstMs: pauseMs,
        longestMs: longestPauseMs,
        accounts: [...this.#adapters.keys()],
        kind: 'by_id',
      }),
    );
    const queue = [...due];
    // The next report is asked for while the last is written: what comes meanwhile is written together.
    const writing: Promise<void>[] = [];
    const reader = async () => {
      for (let poll = queue.shift(); poll !== undefined; poll = queue.shift()) {
        const look = await this.#look(poll);
        if (look !== null) writing.push(this.#keep(look));
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, due.length) }, reader));
    await Promise.all(writing);
    // What these reports did not settle is searched for, in a loop of its own: a long search holds up no receipt.
    this.#resolver.add(due);
    return due.length >= limit ? 'more' : due.length > 0 ? 'some' : 'none';
  };

  async #look(poll: DuePoll): Promise<Look | null> {
    const adapter = this.#adapters.get(accountOf(poll));
    if (adapter === undefined || poll.providerTxnId === null) return null;
    const answer = await adapter.reportByTransaction(poll.providerTxnId, poll.size, poll.zone);
    this.#reads.inc({ answer: answer.kind });
    if (answer.kind === 'unavailable') {
      this.#context.log.warn({ submission: poll.id, detail: answer.detail }, 'report_unavailable');
      return null;
    }
    return { poll, answer };
  }

  async #keep(look: Look): Promise<void> {
    try {
      await this.#writer(look.poll).add(look);
    } catch (err) {
      // Stored or not, the submission is due again after its pause.
      this.#context.log.error({ err, submission: look.poll.id }, 'report_not_written');
    }
  }

  #writer(poll: DuePoll): Batcher<Look> {
    const key = `${poll.routeId} ${accountOf(poll)}`;
    const known = this.#writers.get(key);
    if (known !== undefined) return known;
    const origin = { routeId: poll.routeId, provider: poll.provider, account: poll.account, source: 'poll' as const };
    const writer = new Batcher<Look>(
      RECEIPTS_AT_ONCE,
      (look) => look.poll.size,
      (looks) => this.#write(origin, looks),
    );
    this.#writers.set(key, writer);
    return writer;
  }

  async #write(origin: ReceiptOrigin, looks: readonly Look[]): Promise<void> {
    const { log } = this.#context;
    const records = looks.flatMap(({ answer }) =>
      answer.kind === 'records' ? answer.records.map((record) => toReceipt(record)) : [],
    );
    const total = await this.#keeper.keep(origin, records);
    const polls = looks.map(({ poll }) => poll);
    // Rows that a short report does not show are not thereby without a receipt.
    const doubtful = looks.filter(({ answer }) => answer.kind === 'records' && !answer.coversAll);
    const expired = await endLooks(
      this.#context.pool,
      polls,
      doubtful.map(({ poll }) => poll.id),
    );
    log.info({ route: origin.routeId, reports: polls.length, ...total, expired }, 'reports_read');
  }
}

const accountOf = (poll: DuePoll) => `${poll.provider}/${poll.account}`;
