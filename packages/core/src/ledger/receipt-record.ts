import { createHash } from 'node:crypto';
import type { ReceiptStatus } from '../domain/receipt.ts';

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
}

export type ReceiptSource = 'poll' | 'push' | 'day' | 'reply';

/** A route's account: provider message ids are unique inside it. */
export interface ReceiptOrigin {
  readonly routeId: string;
  readonly provider: string;
  readonly account: string;
  readonly source: ReceiptSource;
}

/** Accounts of two providers may have one name. */
export const ownerName = (origin: ReceiptOrigin) => `${origin.provider}/${origin.account}`;

/** Same evidence, same hash: repeats are counted by the database and applied once. Parts are length-prefixed. */
export function receiptHash(account: string, record: ReceiptRecord): Buffer {
  const hash = createHash('sha256').update('sendledger.receipt.1');
  for (const part of [
    account,
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
