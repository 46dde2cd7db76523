import { type MessageFault, SendledgerError } from '@sendledger/core';

/**
 * Why a message was not written. Beside the faults found here: `conflict` (its key is taken by a message with other content)
 * and `refused_by_database` (a rule that only the database can judge, such as a route that does not exist).
 */
export type RefusalReason = MessageFault | 'conflict' | 'refused_by_database';

export interface Refusal {
  /** Position of the message in the call. */
  readonly index: number;
  /** Position in the message's `to`; null where the whole message is meant. */
  readonly to: number | null;
  /** Path in the message, e.g. `event.id`. */
  readonly field: string;
  readonly reason: RefusalReason;
  /** The reason as a sentence, without any value of the message. */
  readonly message: string;
  /** For a conflict: the message that has the key. */
  readonly id?: string;
}

/** SENDLEDGER_MESSAGE_REFUSED: nothing of the call was written, and the caller's transaction is as it was before. */
export class MessageRefused extends SendledgerError {
  readonly problems: readonly Refusal[];

  constructor(problems: readonly Refusal[]) {
    const [first] = problems;
    const where = first === undefined ? '' : `First: message ${first.index}, ${first.field}, ${first.reason}.`;
    super('SENDLEDGER_MESSAGE_REFUSED', `${problems.length} problem(s). ${where}`);
    this.name = 'MessageRefused';
    this.problems = problems;
  }
}
