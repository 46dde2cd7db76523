import type { MovedRow } from '@sendledger/core/ledger';

/** A moved row as a log line names it. */
export function movedLine(row: MovedRow) {
  return { attempt_key: row.attemptKey, submission: row.submissionId, state: row.state, reason: row.reason };
}
