import {
  type DuePoll,
  durably,
  endPolls,
  expireUnconfirmed,
  RECEIPTS_AT_ONCE,
  type ReceiptOrigin,
  takeDuePolls,
} from '@sendledger/core/ledger';
import type { Adapter, ReportAnswer } from '@sendledger/gateway';
import { type AppContext, Batcher, Counter, type Round } from '@sendledger/worker';
import { type ReceiptKeeper, toReceipt } from './keep-receipts.ts';
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
    const due = await durably(this.#context.pool, (sql) =>
      takeDuePolls(sql, { limit, firstMs: pauseMs, longestMs: longestPauseMs, accounts: [...this.#adapters.keys()] }),
    );
    const queue = due.filter((poll) => poll.providerTxnId !== null);
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
    // After the reports: what they settled needs no further look.
    const unseen = await this.#resolver.resolve(due);
    const withoutId = due.filter((poll) => poll.providerTxnId === null);
    this.#reads.inc({ answer: 'no_id' }, withoutId.length);
    // Their last look is the resolver's; where it could not look, they wait for the next one.
    await this.#end(withoutId.filter((poll) => !unseen.has(poll.id)));
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
    const expired = await this.#end(polls);
    log.info({ route: origin.routeId, reports: polls.length, ...total, expired }, 'reports_read');
  }

  /** After the last look: rows whose window is over expire, and submissions without an open row are polled no more. */
  async #end(polls: readonly DuePoll[]): Promise<number> {
    if (polls.length === 0) return 0;
    const { pool } = this.#context;
    // Apart from what follows: the submission comes before its messages in the order of locks.
    const expired = await durably(pool, (sql) =>
      expireUnconfirmed(
        sql,
        polls.map((poll) => poll.id),
      ),
    );
    await durably(pool, (sql) => endPolls(sql, polls));
    return expired;
  }
}

const accountOf = (poll: DuePoll) => `${poll.provider}/${poll.account}`;
