import { type Adapter, createSmsGatewayCenter, type ReportAnswer, type ReportRecords } from '@sendledger/gateway';

/** An adapter that answers reports from memory and keeps what it was asked for. */
export function recordedReads(answer: (txn: string) => ReportAnswer): Adapter & { readonly asked: string[] } {
  const asked: string[] = [];
  // A port that nobody listens on: whatever is not replaced here would fail.
  const real = createSmsGatewayCenter({ baseUrl: 'http://127.0.0.1:1', userid: 'demo', password: 'demopassword' });
  return {
    ...real,
    asked,
    // A report of no days knows of nobody.
    async reportByDays(question) {
      asked.push(`days ${question.recipient}`);
      return { kind: 'read', complete: true, pages: 1, records: 0, unreadableRows: 0, incompleteBecause: null };
    },
    async reportByTransaction(txn) {
      asked.push(txn);
      return answer(txn);
    },
  };
}

/** A report that knows the transaction and says nothing about its recipients yet. */
export const NOTHING_YET: ReportRecords = {
  kind: 'records',
  records: [],
  rowCount: 0,
  declaredCount: null,
  unreadableRows: 0,
  foreignRows: 0,
  coversAll: false,
};

/** A report of one recipient that was delivered. */
export function delivered(txn: string, recipient: string): ReportAnswer {
  return {
    ...NOTHING_YET,
    rowCount: 1,
    coversAll: true,
    records: [
      {
        providerTxnId: txn,
        providerMessageId: `pm-${txn}`,
        recipient,
        senderId: null,
        statusWord: 'DELIVRD',
        status: 'delivered',
        cause: null,
        causeClass: 'none',
        submittedAt: null,
        deliveredAt: new Date('2026-01-01T10:00:00Z'),
        evidence: {},
      },
    ],
  };
}
