import {
  applyReceipts,
  type DuePoll,
  durably,
  endPolls,
  expireUnconfirmed,
  type MovedRow,
  RECEIPTS_AT_ONCE,
  type ReceiptOrigin,
  type ReceiptRecord,
  recordReceipts,
  takeDuePolls,
} from '@sendledger/core/ledger';
import type { Adapter, ProviderRecord, ReportAnswer } from '@sendledger/gateway';
import { type AppContext, Batcher, Counter, type Round } from '@sendledger/worker';
import { movedLine } from './moved-line.ts';

export interface ReportPolicy {
  readonly concurrency: number;
  readonly pauseMs: number;
  readonly longestPauseMs: number;
}

/** A report that was read, or could not be. */
interface Look {
  readonly poll: DuePoll;
  /** Null where there is no id to ask by. */
  readonly answer: ReportAnswer | null;
}

/** Looks a reader takes in one round: a round must end while the provider hangs on each of them. */
const LOOKS_A_READER = 5;

/**
 * Reads the delivery report of submissions by transaction. Every record is stored first and applied after, in two
 * transactions: a crash between them loses nothing, because the next look finds the stored receipts unapplied. What has been
 * read is written while the others are still being read. No transaction is open while the provider is asked.
 */
export class ReportReader {
  readonly #context: AppContext;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  readonly #policy: ReportPolicy;
  readonly #writers = new Map<string, Batcher<Look>>();
  readonly #reads: Counter<'answer'>;
  readonly #receipts: Counter<'effect'>;

  /** @param adapters by `provider/account`. */
  constructor(context: AppContext, adapters: ReadonlyMap<string, Adapter>, policy: ReportPolicy) {
    this.#context = context;
    this.#adapters = adapters;
    this.#policy = policy;
    this.#reads = new Counter({
      name: 'sendledger_report_reads_total',
      help: 'Reads of a delivery report by transaction, by answer.',
      labelNames: ['answer'],
      registers: [context.registry],
    });
    this.#receipts = new Counter({
      name: 'sendledger_receipts_total',
      help: 'Receipts by what they did.',
      labelNames: ['effect'],
      registers: [context.registry],
    });
  }

  round = async (): Promise<Round> => {
    const { concurrency, pauseMs, longestPauseMs } = this.#policy;
    const limit = concurrency * LOOKS_A_READER;
    const due = await durably(this.#context.pool, (sql) =>
      takeDuePolls(sql, { limit, firstMs: pauseMs, longestMs: longestPauseMs, accounts: [...this.#adapters.keys()] }),
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
    return due.length >= limit ? 'more' : due.length > 0 ? 'some' : 'none';
  };

  async #look(poll: DuePoll): Promise<Look | null> {
    const adapter = this.#adapters.get(accountOf(poll));
    if (adapter === undefined) return null;
    const answer =
      poll.providerTxnId === null ? null : await adapter.reportByTransaction(poll.providerTxnId, poll.size);
    this.#reads.inc({ answer: answer?.kind ?? 'no_id' });
    if (answer?.kind === 'unavailable') {
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
    const { pool, log } = this.#context;
    const records = looks.flatMap(({ answer }) => (answer?.kind === 'records' ? answer.records.map(toReceipt) : []));
    const total = { fresh: 0, delivered: 0, failed: 0, conflicts: 0, waiting: 0 };
    for (let at = 0; at < records.length; at += RECEIPTS_AT_ONCE) {
      const some = records.slice(at, at + RECEIPTS_AT_ONCE);
      const { hashes, fresh } = await durably(pool, (sql) => recordReceipts(sql, origin, some));
      const moved: MovedRow[] = [];
      const applied = await durably(pool, (sql) => applyReceipts(sql, origin, hashes, (row) => moved.push(row)));
      for (const row of moved) log.info(movedLine(row), 'receipt_applied');
      total.fresh += fresh;
      total.delivered += applied.delivered;
      total.failed += applied.failed;
      total.conflicts += applied.conflicts;
      total.waiting += applied.waiting;
    }
    const polls = looks.map(({ poll }) => poll);
    // Only after this last look. Apart from what follows: the submission comes before its messages in the order of locks.
    const expired = await durably(pool, (sql) =>
      expireUnconfirmed(
        sql,
        polls.map((poll) => poll.id),
      ),
    );
    await durably(pool, (sql) => endPolls(sql, polls));
    this.#receipts.inc({ effect: 'delivered' }, total.delivered);
    this.#receipts.inc({ effect: 'failed' }, total.failed);
    this.#receipts.inc({ effect: 'conflict' }, total.conflicts);
    log.info({ route: origin.routeId, reports: polls.length, ...total, expired }, 'reports_read');
  }
}

const accountOf = (poll: DuePoll) => `${poll.provider}/${poll.account}`;

function toReceipt(record: ProviderRecord): ReceiptRecord {
  return {
    providerTxnId: record.providerTxnId,
    providerMessageId: record.providerMessageId,
    recipient: record.recipient,
    senderId: record.senderId,
    statusWord: record.statusWord ?? '',
    status: record.status,
    cause: record.cause,
    causeClass: record.causeClass,
    submittedAt: record.submittedAt,
    deliveredAt: record.deliveredAt,
    evidence: record.evidence,
  };
}
