import type { Message } from '@sendledger/core';
import type { CancelReport } from '@sendledger/core/ledger';
import {
  type Cancel,
  cancelMessages,
  finishRecorded,
  type RecordedCancellation,
  recordCancellation,
} from './cancel.ts';
import { DirectoryCache } from './directory.ts';
import { enqueueMessages, type OnProblem } from './enqueue.ts';
import type { EnqueueResult } from './enqueue-result.ts';
import { type Find, type FoundMessage, findMessages } from './find.ts';
import { type Replay, type ReplayResult, replayMessage } from './replay.ts';
import { type Reschedule, type Rescheduled, rescheduleMessage } from './reschedule.ts';
import { type Reader, readerOf, sqlExecutor, type Transaction, transactionOf } from './sql-executor.ts';
import { type ClientOf, type ClientPool, inTransaction, type TransactionClient } from './transaction.ts';
import { createWaker } from './waker.ts';

export interface ProducerOptions {
  /** Where wake-ups go. Null or left out: none are sent, and a row waits for the workers' next poll. */
  readonly redisUrl?: string | null | undefined;
  /** Tenant of messages that name none. */
  readonly tenant?: string | undefined;
  /** ISO country for numbers without a country code, where the tenant's row has none. */
  readonly defaultRegion?: string | undefined;
  /** Default `throw`. */
  readonly onProblem?: OnProblem | undefined;
}

export interface EnqueueOptions {
  readonly onProblem?: OnProblem | undefined;
}

export interface EnqueueReply {
  /** One per recipient of each message, in the order given. */
  readonly results: readonly EnqueueResult[];
  /**
   * Tells the workers; call it once the transaction has committed. Never rejects, settles within 250 ms. Does nothing inside
   * `transaction()`, which does it by itself.
   */
  wake(): Promise<void>;
}

export interface ReplayReply {
  readonly result: ReplayResult;
  /** As of an enqueue: call it once the transaction has committed. */
  wake(): Promise<void>;
}

export interface Producer {
  /**
   * Writes messages in the caller's transaction: they exist if and only if the transaction commits.
   *
   * @throws MessageRefused (SENDLEDGER_MESSAGE_REFUSED) in mode `throw`, with nothing of this call written and the
   *   transaction still usable.
   * @throws SendledgerError SENDLEDGER_TRANSACTION_NEEDED, SENDLEDGER_MIGRATION_MISSING; database errors pass as they are.
   */
  enqueue(tx: Transaction, messages: Message | readonly Message[], options?: EnqueueOptions): Promise<EnqueueReply>;
  /**
   * Sends a message again in the caller's transaction: a new row that replaces it. Refused, as an answer, where the first may
   * have arrived or may yet.
   *
   * @throws SendledgerError SENDLEDGER_REASON_NEEDED, SENDLEDGER_TRANSACTION_NEEDED, SENDLEDGER_MIGRATION_MISSING
   */
  replay(tx: Transaction, wanted: Replay): Promise<ReplayReply>;
  /**
   * Cancels what has not left. The fact is committed, then what waits is cancelled and what is claimed is given back, then it
   * answers; no request of a covered message has a time later than that answer, messages made after the call included. So it
   * runs in transactions of its own: it takes a pool, and a client is refused.
   *
   * @throws MessageRefused for a recipient or a name that cannot be read
   * @throws SendledgerError SENDLEDGER_REASON_NEEDED, SENDLEDGER_MIGRATION_MISSING
   * @throws TypeError where a client was given, whose transaction nobody else could see
   */
  cancel(pool: ClientPool, wanted: Cancel): Promise<CancelReport>;
  /**
   * Writes the fact of a cancellation in the caller's transaction, and stops nothing by itself: from the commit on nothing that
   * is covered is claimed any more. What was claimed before is stopped by `finishCancellation`, after the commit. Null where
   * there is no such message.
   *
   * @throws as `cancel`, and SENDLEDGER_TRANSACTION_NEEDED
   */
  recordCancellation(tx: Transaction, wanted: Cancel): Promise<RecordedCancellation | null>;
  /**
   * The rest of a recorded cancellation, once its transaction has committed: as `cancel`. May be repeated.
   *
   * @throws as `cancel`
   */
  finishCancellation(
    pool: ClientPool,
    recorded: RecordedCancellation,
    options?: { list?: number },
  ): Promise<CancelReport>;
  /**
   * Gives a scheduled message another time. What waits here is moved at once; of what a provider holds the provider is asked, for
   * a whole request. In a transaction of its own, so it takes a pool. A refusal is an answer.
   *
   * @throws MessageRefused where no tenant is named, or one that cannot be stored
   * @throws SendledgerError SENDLEDGER_REASON_NEEDED, SENDLEDGER_MIGRATION_MISSING
   * @throws TypeError where a client was given
   */
  reschedule(pool: ClientPool, wanted: Reschedule): Promise<Rescheduled>;
  /**
   * What became of messages: state, the provider's ids, cost; never a text. Reads only, so a pool may be given as well as a
   * client, whose own uncommitted messages it then sees.
   *
   * @throws MessageRefused for a recipient or a name that cannot be read
   * @throws SendledgerError SENDLEDGER_MIGRATION_MISSING
   */
  find(reader: Reader, wanted: Find): Promise<readonly FoundMessage[]>;
  /**
   * Begins, runs `work`, commits, then wakes everything enqueued through that client. On an error it rolls back and wakes
   * nothing.
   *
   * @throws SendledgerError SENDLEDGER_COMMIT_ROLLED_BACK, and whatever `work` throws.
   */
  transaction<T, P extends ClientPool>(pool: P, work: (tx: ClientOf<P>) => Promise<T>): Promise<T>;
  /** Wake-ups that did not get through since the start, one per lane: latency, never loss. */
  readonly wakeFailures: number;
  /** Closes the Redis connection; the caller's database connections are the caller's. */
  close(): Promise<void>;
}

export function createProducer(options: ProducerOptions): Producer {
  const waker = createWaker(options.redisUrl);
  const directory = new DirectoryCache();
  const who = { tenant: options.tenant, defaultRegion: options.defaultRegion };
  /** Lanes to wake after the commit, by client of a transaction that is run here. */
  const running = new WeakMap<object, Set<string>>();
  /** After the commit: by `transaction` where that runs it, else by the caller. */
  const wakeLater = (tx: Transaction, lanes: ReadonlySet<string>) => {
    const later = running.get(tx);
    if (later === undefined) return () => waker.wake(lanes);
    for (const lane of lanes) later.add(lane);
    return async () => undefined;
  };

  return {
    async enqueue(tx, messages, { onProblem } = {}) {
      const { results, lanes } = await inTurn(transactionOf(tx), () =>
        enqueueMessages(
          sqlExecutor(tx),
          isList(messages) ? messages : [messages],
          {
            tenant: options.tenant,
            defaultRegion: options.defaultRegion,
            onProblem: onProblem ?? options.onProblem ?? 'throw',
          },
          directory,
        ),
      );
      return { results, wake: wakeLater(tx, lanes) };
    },

    async replay(tx, wanted) {
      const { result, lanes } = await inTurn(transactionOf(tx), () =>
        replayMessage(sqlExecutor(tx), wanted, options.tenant),
      );
      return { result, wake: wakeLater(tx, lanes) };
    },

    async cancel(pool, wanted) {
      const report = await cancelMessages(pool, wanted, who, directory);
      await waker.wake(report.lanes);
      return report;
    },

    recordCancellation: (tx, wanted) =>
      inTurn(transactionOf(tx), () => recordCancellation(sqlExecutor(tx), wanted, who, directory)),

    async finishCancellation(pool, recorded, { list } = {}) {
      const report = await finishRecorded(pool, recorded, list);
      await waker.wake(report.lanes);
      return report;
    },

    async reschedule(pool, wanted) {
      const { result, lanes } = await rescheduleMessage(pool, wanted, who);
      await waker.wake(lanes);
      return result;
    },

    find: async (reader, wanted) => findMessages(readerOf(reader), wanted, who, directory),

    async transaction<T, P extends ClientPool>(pool: P, work: (tx: ClientOf<P>) => Promise<T>): Promise<T> {
      const client: TransactionClient = await pool.connect();
      const lanes = new Set<string>();
      const result = await inTransaction(client, async () => {
        running.set(client, lanes);
        try {
          // ClientOf<P> is what this very pool lends; the type cannot be followed through its overloads.
          return await work(client as ClientOf<P>);
        } finally {
          // Before the client goes back to the pool, where the next transaction may take it at once.
          running.delete(client);
        }
      });
      await waker.wake(lanes);
      return result;
    },

    get wakeFailures() {
      return waker.failures;
    },

    close: () => waker.close(),
  };
}

/** The last call on each transaction. */
const turns = new WeakMap<object, Promise<unknown>>();

/**
 * One after another on one transaction: the statements of two calls would interleave, and the savepoint of one that is
 * refused would take back the rows of the other, which has answered `created`.
 */
async function inTurn<T>(transaction: object, call: () => Promise<T>): Promise<T> {
  const before = turns.get(transaction) ?? Promise.resolve();
  const mine = before.then(call, call);
  turns.set(transaction, mine);
  return mine;
}

function isList(messages: Message | readonly Message[]): messages is readonly Message[] {
  return Array.isArray(messages);
}
