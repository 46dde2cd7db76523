import {
  applyReceipts,
  type DuePoll,
  durably,
  endPolls,
  expireUnconfirmed,
  type ReceiptRecord,
  recordReceipts,
  takeDuePolls,
} from '@sendledger/core/ledger';
import type { Adapter, ProviderRecord, ReportAnswer } from '@sendledger/gateway';
import { type AppContext, Counter, type Round } from '@sendledger/worker';

export interface ReportPolicy {
  readonly concurrency: number;
  readonly pauseMs: number;
  readonly longestPauseMs: number;
}

/** Submissions whose reports are read in one round. */
const PER_ROUND = 100;

/**
 * Reads the delivery report of submissions by transaction. Every record is stored first and applied after, in two
 * transactions: a crash between them loses nothing, because the next look finds the stored receipts unapplied. No
 * transaction is open while the provider is asked.
 */
export function reportRound(
  context: AppContext,
  adapterFor: (poll: DuePoll) => Adapter | undefined,
  policy: ReportPolicy,
): () => Promise<Round> {
  const reads = new Counter({
    name: 'sendledger_report_reads_total',
    help: 'Reads of a delivery report by transaction, by answer.',
    labelNames: ['answer'],
    registers: [context.registry],
  });
  const receipts = new Counter({
    name: 'sendledger_receipts_total',
    help: 'Receipts by what they did.',
    labelNames: ['effect'],
    registers: [context.registry],
  });

  return async () => {
    const due = await durably(context.pool, (sql) =>
      takeDuePolls(sql, { limit: PER_ROUND, firstMs: policy.pauseMs, longestMs: policy.longestPauseMs }),
    );
    if (due.length === 0) return 'none';
    const answers = await readAll(due, adapterFor, policy.concurrency);

    for (const [key, polls] of Map.groupBy(due, (poll) => `${poll.routeId} ${poll.account}`)) {
      const read = polls.filter((poll) => answers.get(poll)?.kind === 'records');
      // Without an id there is nothing to look at before the window ends.
      const looked = [...read, ...polls.filter((poll) => poll.providerTxnId === null)];
      const records = read.flatMap((poll) => {
        const answer = answers.get(poll);
        return answer?.kind === 'records' ? answer.records.map(toReceipt) : [];
      });
      const [first] = polls;
      if (first === undefined) continue;
      const origin = { routeId: first.routeId, account: first.account, source: 'poll' as const };
      const { hashes, fresh } = await durably(context.pool, (sql) => recordReceipts(sql, origin, records));
      const applied = await durably(context.pool, async (sql) => {
        const result = await applyReceipts(sql, origin, hashes);
        // Only after this last look, and only where there was one.
        const expired = await expireUnconfirmed(
          sql,
          looked.map((poll) => poll.id),
        );
        await endPolls(sql, looked);
        return { ...result, expired };
      });
      receipts.inc({ effect: 'delivered' }, applied.delivered);
      receipts.inc({ effect: 'failed' }, applied.failed);
      receipts.inc({ effect: 'conflict' }, applied.conflicts);
      reads.inc({ answer: 'records' }, read.length);
      reads.inc({ answer: 'unavailable' }, polls.length - looked.length);
      context.log.info({ route: key.split(' ')[0], polls: polls.length, fresh, ...applied }, 'reports_read');
      for (const poll of polls) {
        const answer = answers.get(poll);
        if (answer?.kind === 'unavailable')
          context.log.warn({ submission: poll.id, detail: answer.detail }, 'report_unavailable');
      }
    }
    return due.length >= PER_ROUND ? 'more' : 'some';
  };
}

async function readAll(
  due: readonly DuePoll[],
  adapterFor: (poll: DuePoll) => Adapter | undefined,
  concurrency: number,
): Promise<Map<DuePoll, ReportAnswer>> {
  const answers = new Map<DuePoll, ReportAnswer>();
  const queue = [...due];
  const reader = async () => {
    for (let poll = queue.shift(); poll !== undefined; poll = queue.shift()) {
      const adapter = adapterFor(poll);
      if (adapter === undefined || poll.providerTxnId === null) continue;
      answers.set(poll, await adapter.reportByTransaction(poll.providerTxnId, poll.size));
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, due.length) }, reader));
  return answers;
}

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
