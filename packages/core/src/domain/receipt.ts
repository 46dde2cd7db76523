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
  /** The row is final and this says something else: it is kept, and flagged. */
  | { readonly kind: 'conflict' }
  /** Not to be judged yet: our own reply is still out, or the word is unmapped. */
  | { readonly kind: 'wait' };

/**
 * Of contradictory finals the first applied stands (terminal is terminal); an unmapped word changes nothing and can be
 * judged again once mapped; a receipt that overtakes our own reply waits for it.
 */
export function judgeReceipt(state: MessageState, status: ReceiptStatus): ReceiptVerdict {
  if (status === 'unmapped') return { kind: 'wait' };
  switch (state) {
    case 'claimed':
      return { kind: 'wait' };
    case 'submitted':
      return status === 'open' ? { kind: 'noted' } : { kind: 'move', to: status, viaSubmitted: false };
    case 'unknown':
      return status === 'open' ? { kind: 'accepted' } : { kind: 'move', to: status, viaSubmitted: true };
    case 'delivered':
      return status === 'failed' ? { kind: 'conflict' } : { kind: 'noted' };
    case 'failed':
      return status === 'delivered' ? { kind: 'conflict' } : { kind: 'noted' };
    case 'expired':
      // The window closed without a receipt; a late one is evidence that it should not have.
      return status === 'open' ? { kind: 'noted' } : { kind: 'conflict' };
    case 'rejected':
    case 'cancelled':
    case 'superseded':
      return { kind: 'conflict' };
    case 'pending':
    case 'retry':
      // Evidence for a row of ours that is not on the wire: an earlier attempt, or a mistake. A person looks.
      return { kind: 'conflict' };
  }
}
