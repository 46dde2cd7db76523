import { createHash } from 'node:crypto';
import type { ReceiptStatus } from '../domain/receipt.ts';
import type { RowRef } from './identity.ts';

/** One record of a provider's report or push, normalised; the text of the message is not in it. */
export interface ReceiptRecord {
  readonly providerTxnId: string | null;
  readonly providerMessageId: string | null;
  readonly recipient: string | null;
  readonly senderId: string | null;
  readonly statusWord: string;
  readonly status: ReceiptStatus;
  readonly cause: string | null;
  readonly causeClass: string | null;
  readonly submittedAt: Date | null;
  readonly deliveredAt: Date | null;
  readonly evidence: Readonly<Record<string, string | null>>;
  /** The row it belongs to, where that is known without the provider's ids: our own reply, or the resolver's match. */
  readonly message?: RowRef;
}

export type ReceiptSource = 'poll' | 'push' | 'day' | 'reply';

/** A route's account: provider message ids are unique inside it. */
export interface ReceiptOrigin {
  readonly routeId: string;
  readonly provider: string;
  readonly account: string;
  readonly source: ReceiptSource;
  /** Not to be trusted by itself: it wakes a poll, which says what is so. */
  readonly hint?: boolean;
}

/** Accounts of two providers may have one name. */
export const ownerName = (origin: ReceiptOrigin) => `${origin.provider}/${origin.account}`;

/** Same evidence, same hash: repeats are counted by the database and applied once. Parts are length-prefixed. */
export function receiptHash(origin: ReceiptOrigin, record: ReceiptRecord): Buffer {
  // A hint and the evidence it foretells are two things, or the first would keep the second out.
  const hash = createHash('sha256').update(origin.hint === true ? 'sendledger.hint.1' : 'sendledger.receipt.1');
  if (record.message !== undefined) hash.update(`message:${record.message.id}`);
  for (const part of [
    ownerName(origin),
    record.providerTxnId,
    record.providerMessageId,
    record.recipient,
    record.statusWord,
    record.cause,
    record.deliveredAt?.toISOString() ?? null,
  ])
    hash.update(part === null ? '-' : `${Buffer.byteLength(part)}:${part}`);
  return hash.digest();
}
