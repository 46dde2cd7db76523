import { openReview } from './open-review.ts';
import { type ReceiptOrigin, type ReceiptRecord, receiptHash } from './receipt-record.ts';
import { rowsOf, type Sql } from './sql.ts';

/** Stores receipts before anybody acts on them. Answers their hashes in the order in which they were given, and how many are new. */
export async function recordReceipts(
  sql: Sql,
  origin: ReceiptOrigin,
  given: readonly ReceiptRecord[],
): Promise<{ readonly hashes: readonly Buffer[]; readonly fresh: number }> {
  // The same evidence twice in one call is one receipt.
  const distinct = new Map(given.map((record) => [receiptHash(origin, record).toString('hex'), record]));
  if (distinct.size === 0) return { hashes: [], fresh: 0 };
  // In the order in which receipts are locked everywhere: two readers of one report may hold it in two orders.
  const sorted = [...distinct].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const hashes = sorted.map(([hex]) => Buffer.from(hex, 'hex'));
  const records = sorted.map(([, record]) => record);
  const stored = await rowsOf<{ fresh: boolean }>(
    sql,
    `insert into sendledger.delivery_receipt (dedupe_hash, route_id, source, provider_txn_id, provider_message_id, recipient,
       sender_id, status_word, status, cause, cause_class, provider_submitted_at, provider_delivered_at, evidence, hint, message_id, message_created_at)
     select u.dedupe_hash, $1::bigint, $2, u.provider_txn_id, u.provider_message_id, u.recipient, u.sender_id, u.status_word,
       u.status, u.cause, u.cause_class, u.submitted_at, u.delivered_at, u.evidence, $15::boolean, u.message_id, u.message_created_at
     from unnest($3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
       $12::timestamptz[], $13::timestamptz[], $14::jsonb[], $16::bigint[], $17::timestamptz[]) as u(dedupe_hash, provider_txn_id, provider_message_id, recipient,
       sender_id, status_word, status, cause, cause_class, submitted_at, delivered_at, evidence, message_id, message_created_at)
     -- A word that was mapped since it was stored is judged anew; what was applied stays as it was.
     on conflict (dedupe_hash, received_month) do update set status = excluded.status, cause_class = excluded.cause_class
       where delivery_receipt.applied_at is null and delivery_receipt.status <> excluded.status
     returning (received_at = now()) as fresh`,
    [
      origin.routeId,
      origin.source,
      hashes,
      records.map((r) => r.providerTxnId),
      records.map((r) => r.providerMessageId),
      records.map((r) => r.recipient),
      records.map((r) => r.senderId),
      records.map((r) => r.statusWord),
      records.map((r) => r.status),
      records.map((r) => r.cause),
      records.map((r) => r.causeClass),
      records.map((r) => r.submittedAt),
      records.map((r) => r.deliveredAt),
      records.map((r) => JSON.stringify(r.evidence)),
      origin.hint ?? false,
      records.map((r) => r.message?.id ?? null),
      records.map((r) => r.message?.createdAt ?? null),
    ],
  );
  for (const word of new Set(records.filter((r) => r.status === 'unmapped').map((r) => r.statusWord)))
    await openReview(sql, {
      kind: 'unmapped_status',
      subject: `${origin.provider} ${word}`,
      routeId: origin.routeId,
      once: true,
      evidence: {
        status_word: word,
        remedy: 'map the word; receipts that hold it are judged again when they are read again',
      },
    });
  return {
    hashes: [...distinct.keys()].map((hex) => Buffer.from(hex, 'hex')),
    fresh: stored.filter((row) => row.fresh).length,
  };
}
