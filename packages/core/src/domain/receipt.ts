import type { MessageState } from './state.ts';

/** What a receipt says, in our words. `unmapped`: the provider used a word nobody mapped; the row stays where it is. */
export type ReceiptStatus = 'open' | 'delivered' | 'failed' | 'unmapped';

/** What to do with a receipt, given the row it belongs to. */
export type ReceiptVerdict =
  /** Move the row, first to `submitted` if it was unknown. */
  | { readonly kind: 'move'; readonly to: 'delivered' | 'failed'; readonly viaSubmitted: boolean }
  /** Evidence that an unknown row was accepted; not final. */
  | { readonly kind: 'accepted' }
  /** Nothing to move; the receipt is done. */
  | { readonly kind: 'noted' }
  /**
   * The row is final and this says something else: it is kept, and flagged. `bill`: it also shows that the provider took a
   * message that nobody paid for yet; the state stands, and the money is set right.
   */
  | { readonly kind: 'conflict'; readonly bill: boolean }
  /**
   * The row is about to be sent again, and this shows that the try before was taken: it must not go out. The receipt is judged
   * again when the row is out of the queue.
   */
  | { readonly kind: 'withdraw' }
  /** Not to be judged yet: our own reply is still out, or the word is unmapped. */
  | { readonly kind: 'wait' };

/**
 * Of contradictory finals the first applied stands (terminal is terminal); an unmapped word changes nothing and can be
 * judged again once mapped; a receipt that overtakes our own reply waits for it. A row that is final without a cost was thought
 * not sent: any record of it shows that it was.
 *
 * @param billed whether the row has a cost
 */
export function judgeReceipt(state: MessageState, status: ReceiptStatus, billed: boolean): ReceiptVerdict {
  if (status === 'unmapped') return { kind: 'wait' };
  switch (state) {
    case 'claimed':
      return { kind: 'wait' };
    case 'submitted':
      return status === 'open' ? { kind: 'noted' } : { kind: 'move', to: status, viaSubmitted: false };
    case 'unknown':
      return status === 'open' ? { kind: 'accepted' } : { kind: 'move', to: status, viaSubmitted: true };
    case 'delivered':
      return status === 'failed' ? { kind: 'conflict', bill: false } : { kind: 'noted' };
    case 'failed':
      if (!billed) return { kind: 'conflict', bill: true };
      return status === 'delivered' ? { kind: 'conflict', bill: false } : { kind: 'noted' };
    case 'expired':
      if (!billed) return { kind: 'conflict', bill: true };
      // The window closed without a receipt; a late one is evidence that it should not have.
      return status === 'open' ? { kind: 'noted' } : { kind: 'conflict', bill: false };
    case 'rejected':
      // A provider may list what it refused as failed; that costs nothing.
      if (status === 'failed') return { kind: 'noted' };
      return { kind: 'conflict', bill: !billed };
    case 'cancelled':
      return { kind: 'conflict', bill: !billed };
    case 'superseded':
      return { kind: 'conflict', bill: false };
    case 'retry':
      // What was proven not sent, or refused for now, was taken after all. A refusal may be listed as failed, and costs nothing.
      return status === 'failed' ? { kind: 'conflict', bill: false } : { kind: 'withdraw' };
    case 'pending':
      // Evidence for a row that was never on the wire is a mistake. A person looks.
      return { kind: 'conflict', bill: false };
  }
}
