import type { MarkedSubmission, SubmissionOutcome } from '@sendledger/core/ledger';
import { type AppContext, Counter, Histogram, type Log, maskRecipient } from '@sendledger/worker';

/** What became of requests and of their rows. */
export class SubmitMetrics {
  readonly #outcomes: Counter<'message_class' | 'outcome'>;
  readonly #seconds: Histogram<'message_class' | 'outcome'>;
  readonly #retries: Counter<'message_class' | 'reason'>;
  readonly #attempts: Histogram<'message_class' | 'state'>;

  constructor(registry: AppContext['registry']) {
    this.#outcomes = new Counter({
      name: 'sendledger_submissions_total',
      help: 'Requests by what became of them.',
      labelNames: ['message_class', 'outcome'],
      registers: [registry],
    });
    this.#retries = new Counter({
      name: 'sendledger_retries_total',
      help: 'Messages that are tried again, by why; only refusals of the message itself use up a try.',
      labelNames: ['message_class', 'reason'],
      registers: [registry],
    });
    this.#attempts = new Histogram({
      name: 'sendledger_message_attempts',
      help: 'Tries of a message when it left the queue, by what it became.',
      labelNames: ['message_class', 'state'],
      buckets: [0, 1, 2, 3, 5, 8],
      registers: [registry],
    });
    this.#seconds = new Histogram({
      name: 'sendledger_submit_seconds',
      help: 'From the mark to the outcome, in seconds.',
      labelNames: ['message_class', 'outcome'],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 45, 90],
      registers: [registry],
    });
  }

  /** @param seconds from the mark to the outcome on disk */
  observe(submission: MarkedSubmission, judged: SubmissionOutcome, seconds: number): void {
    const { messageClass } = submission;
    const labels = { message_class: messageClass, outcome: judged.state };
    this.#outcomes.inc(labels);
    this.#seconds.observe(labels, seconds);
    for (const row of judged.rows)
      if (row.to === 'retry') this.#retries.inc({ message_class: messageClass, reason: row.reason ?? 'none' });
      else this.#attempts.observe({ message_class: messageClass, state: row.to }, attemptsOf(submission, row));
  }
}

function attemptsOf(submission: MarkedSubmission, row: SubmissionOutcome['rows'][number]): number {
  const before = submission.rows.find((one) => one.id === row.id)?.attemptCount ?? 0;
  return before + (row.countsAsAttempt ? 1 : 0);
}

/** One line a row, with its attempt key and without its text. */
export function logOutcome(log: Log, submission: MarkedSubmission, judged: SubmissionOutcome): void {
  const rows = new Map(submission.rows.map((row) => [row.id, row]));
  for (const row of judged.rows) {
    const source = rows.get(row.id);
    if (source === undefined) continue;
    log.info(
      {
        attempt_key: source.attemptKey,
        recipient: maskRecipient(source.recipient),
        submission: submission.id,
        outcome: judged.state,
        state: row.to,
        reason: row.reason,
        provider_txn_id: judged.providerTxnId,
        status_code: judged.statusCode,
      },
      'submitted',
    );
  }
}
