import type { MarkedSubmission } from '@sendledger/core/ledger';
import type { SubmitRequest } from '@sendledger/gateway';

/** Why no request can be built from these rows. */
export interface Unbuildable {
  readonly unbuildable: string;
}

/**
 * One request from the rows that the mark returned, and from nothing else. Rows of one submission were claimed with equal
 * content; that is checked again here, because what leaves now cannot be taken back.
 */
export function buildRequest(submission: MarkedSubmission, providerZone: string): SubmitRequest | Unbuildable {
  const [first] = submission.rows;
  if (first === undefined) return { unbuildable: 'no row' };
  if (submission.rows.length !== submission.size)
    return { unbuildable: `${submission.rows.length} rows instead of ${submission.size}` };
  if (submission.messageClass === 'otp' && submission.rows.length !== 1) return { unbuildable: 'a batch of passwords' };
  const odd = submission.rows.find(
    (row) =>
      row.body !== first.body ||
      row.senderId !== first.senderId ||
      row.encoding !== first.encoding ||
      row.dltEntityId !== first.dltEntityId ||
      row.dltTemplateId !== first.dltTemplateId ||
      row.holdUntil?.getTime() !== first.holdUntil?.getTime(),
  );
  if (odd !== undefined) return { unbuildable: `message ${odd.id} differs from the others` };
  const recipients = submission.rows.map((row) => row.recipient);
  if (new Set(recipients).size !== recipients.length) return { unbuildable: 'a recipient twice' };
  return {
    attemptKey: first.attemptKey,
    recipients,
    body: first.body,
    encoding: first.encoding,
    senderId: first.senderId,
    dltEntityId: first.dltEntityId,
    dltTemplateId: first.dltTemplateId,
    messageClass: submission.messageClass,
    scheduleAt: first.holdUntil,
    scheduleZone: providerZone,
    // The first that is worthless ends it for all: a later one of the others could not be said.
    validUntil: new Date(Math.min(...submission.rows.map((row) => row.submitBy.getTime()))),
  };
}
