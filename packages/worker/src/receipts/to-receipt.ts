import type { ReceiptRecord, RowRef } from '@sendledger/core/ledger';

/** A record of a report or push as the gateway reads it: all that a receipt has, and perhaps no word. */
type Reported = Omit<ReceiptRecord, 'statusWord' | 'message'> & { readonly statusWord: string | null };

/** A provider's record as the ledger keeps it. `message`: whose it is, where that is known without the provider's ids. */
export function toReceipt(record: Reported, message?: RowRef): ReceiptRecord {
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
    ...(message === undefined ? {} : { message: { id: message.id, createdAt: message.createdAt } }),
  };
}
