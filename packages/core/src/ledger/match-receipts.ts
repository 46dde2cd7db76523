import type { ReceiptStatus } from '../domain/receipt.ts';
import type { MessageState } from '../domain/state.ts';
import { type RowRef, rowKeys } from './identity.ts';
import { lockSubmissionsOf } from './lock-submissions.ts';
import { ownerName, type ReceiptOrigin } from './receipt-record.ts';
import { rowsOf, type Sql } from './sql.ts';

/** A receipt as it stands in the table, waiting to be applied. */
export interface StoredReceipt {
  hash: Buffer;
  receivedMonth: string;
  providerTxnId: string | null;
  providerMessageId: string | null;
  recipient: string | null;
  status: ReceiptStatus;
  cause: string | null;
  causeClass: string | null;
  /** Its own clock's time of the submission, where it gave one. */
  submittedAt: Date | null;
  deliveredAt: Date | null;
  receivedAt: Date;
  hint: boolean;
  /** The row, where whoever stored it knew. */
  pinned: RowRef | null;
}

/** The row a receipt belongs to. */
export interface Target extends RowRef {
  readonly state: MessageState;
  readonly billed: boolean;
  readonly submission: RowRef | null;
  readonly requestedAt: Date | null;
  /** Its ids came with our own reply, and not by a match of ours. */
  readonly known: boolean;
  readonly providerMessageId: string | null;
  readonly providerTxnId: string | null;
  readonly recipient: string;
}

/** The id belongs to this row, and the receipt says in its other words that it means another one. */
export function meansAnother(target: Target, receipt: StoredReceipt): boolean {
  return (
    (receipt.recipient !== null && receipt.recipient !== target.recipient) ||
    (receipt.providerTxnId !== null && target.providerTxnId !== null && receipt.providerTxnId !== target.providerTxnId)
  );
}

/**
 * Stored receipts that nobody applied yet, locked in the order of their hashes, as whoever stores them does. Answered the oldest
 * first; those that came together, in the order of the call.
 */
export async function lockUnapplied(sql: Sql, hashes: readonly Buffer[]): Promise<StoredReceipt[]> {
  const rows = await rowsOf<{
    dedupe_hash: Buffer;
    received_month: string;
    provider_txn_id: string | null;
    provider_message_id: string | null;
    recipient: string | null;
    status: ReceiptStatus;
    cause: string | null;
    cause_class: string | null;
    provider_submitted_at: Date | null;
    provider_delivered_at: Date | null;
    received_at: Date;
    hint: boolean;
    message_id: string | null;
    message_created_at: Date | null;
  }>(
    sql,
    `select r.dedupe_hash, r.received_month::text, r.provider_txn_id, r.provider_message_id, r.recipient, r.status, r.cause,
       r.cause_class, r.provider_submitted_at, r.provider_delivered_at, r.received_at, r.hint, r.message_id, r.message_created_at
     from sendledger.delivery_receipt r
     where r.dedupe_hash = any ($1::bytea[]) and coalesce(r.applied_at, 'infinity') = 'infinity'
     order by r.dedupe_hash, r.received_month
     for update`,
    [hashes],
  );
  const places = new Map(hashes.map((hash, place) => [hash.toString('hex'), place]));
  const placeOf = (row: { dedupe_hash: Buffer }) => places.get(row.dedupe_hash.toString('hex')) ?? 0;
  const oldestFirst = rows.toSorted(
    (a, b) => a.received_at.getTime() - b.received_at.getTime() || placeOf(a) - placeOf(b),
  );
  return oldestFirst.map((row) => ({
    hash: row.dedupe_hash,
    receivedMonth: row.received_month,
    providerTxnId: row.provider_txn_id,
    providerMessageId: row.provider_message_id,
    recipient: row.recipient,
    status: row.status,
    cause: row.cause,
    causeClass: row.cause_class,
    submittedAt: row.provider_submitted_at,
    deliveredAt: row.provider_delivered_at,
    receivedAt: row.received_at,
    hint: row.hint,
    pinned:
      row.message_id === null || row.message_created_at === null
        ? null
        : { id: row.message_id, createdAt: row.message_created_at },
  }));
}

/** Rows by the id the provider gave them, else by transaction and recipient; locked in order of their ids. */
export async function matchReceipts(
  sql: Sql,
  origin: ReceiptOrigin,
  receipts: readonly StoredReceipt[],
): Promise<Map<StoredReceipt, Target>> {
  const refs = await rowsOfReceipts(sql, origin, receipts);
  // The submission comes before its messages: a receipt may settle an ambiguous one, or one that is ambiguous by the time its
  // messages are locked.
  await lockSubmissionsOf(sql, await notSettled(sql, [...refs.values()]));
  const locked = await lockRows(sql, [...refs.values()]);
  const targets = new Map<StoredReceipt, Target>();
  for (const [receipt, ref] of refs) {
    const target = locked.get(ref.id);
    if (target !== undefined) targets.set(receipt, target);
  }
  return targets;
}

/** Which row each receipt is about, without a lock. */
export async function rowsOfReceipts(
  sql: Sql,
  origin: ReceiptOrigin,
  receipts: readonly StoredReceipt[],
): Promise<Map<StoredReceipt, RowRef>> {
  if (receipts.length === 0) return new Map();
  const owners = await rowsOf<{ provider_message_id: string; message_id: string; message_created_at: Date }>(
    sql,
    `select p.provider_message_id, p.message_id, p.message_created_at from sendledger.provider_message p
     where p.account = $1 and p.provider_message_id = any ($2::text[]) and p.era = 0`,
    [ownerName(origin), receipts.map((r) => r.providerMessageId).filter((id) => id !== null)],
  );
  const ownerOf = new Map(
    owners.map((o) => [o.provider_message_id, { id: o.message_id, createdAt: o.message_created_at }]),
  );
  const byTxn = receipts.filter(
    (r) => r.pinned === null && r.providerTxnId !== null && !ownerOf.has(r.providerMessageId ?? ''),
  );
  const submissions = await rowsOf<{ id: string; created_at: Date; provider_txn_id: string }>(
    sql,
    `select s.id, s.created_at, s.provider_txn_id from sendledger.submission s
     join sendledger.route r on r.id = s.route_id
     where s.provider_txn_id = any ($1::text[]) and r.account = $2 and r.provider = $3`,
    [byTxn.map((r) => r.providerTxnId), origin.account, origin.provider],
  );
  const byPair = new Map<string, RowRef>();
  if (submissions.length > 0) {
    const txnOf = new Map(submissions.map((s) => [s.id, s.provider_txn_id]));
    const ids = submissions.map((s) => s.id);
    const open = await rowsOf<{ id: string; created_at: Date; submission_id: string; recipient: string }>(
      sql,
      `select m.id, m.created_at, m.submission_id, m.recipient from sendledger.outbound_message m
       where m.submission_id = any ($1::bigint[]) and m.state in ('claimed', 'submitted', 'unknown')`,
      [ids],
    );
    for (const m of open)
      byPair.set(`${txnOf.get(m.submission_id)} ${m.recipient}`, { id: m.id, createdAt: m.created_at });
    // Final rows have left the index of open submissions; they are found by recipient, since they are few.
    const recipients = byTxn
      .filter((r) => r.recipient !== null && !byPair.has(`${r.providerTxnId} ${r.recipient}`))
      .map((r) => r.recipient);
    if (recipients.length > 0) {
      const closed = await rowsOf<{ id: string; created_at: Date; submission_id: string; recipient: string }>(
        sql,
        `select m.id, m.created_at, m.submission_id, m.recipient from sendledger.outbound_message m
         where m.recipient = any ($1::text[]) and m.submission_id = any ($2::bigint[])`,
        [recipients, ids],
      );
      for (const m of closed)
        byPair.set(`${txnOf.get(m.submission_id)} ${m.recipient}`, { id: m.id, createdAt: m.created_at });
    }
  }
  const refs = new Map<StoredReceipt, RowRef>();
  for (const receipt of receipts) {
    const ref =
      // Who owns the id is decided once, whatever was thought when the receipt was stored.
      ownerOf.get(receipt.providerMessageId ?? '') ??
      receipt.pinned ??
      byPair.get(`${receipt.providerTxnId} ${receipt.recipient}`);
    if (ref !== undefined) refs.set(receipt, ref);
  }
  return refs;
}

async function notSettled(sql: Sql, refs: readonly RowRef[]): Promise<RowRef[]> {
  if (refs.length === 0) return [];
  return rowsOf<RowRef>(
    sql,
    `select m.id, m.created_at as "createdAt" from sendledger.outbound_message m
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text in ('claimed', 'unknown')`,
    rowKeys(refs),
  );
}

async function lockRows(sql: Sql, refs: readonly RowRef[]): Promise<Map<string, Target>> {
  if (refs.length === 0) return new Map();
  const rows = await rowsOf<{
    id: string;
    created_at: Date;
    state: MessageState;
    provider_message_id: string | null;
    provider_txn_id: string | null;
    recipient: string;
    billed: boolean;
    submission_id: string | null;
    submission_created_at: Date | null;
    requested_at: Date | null;
    known: boolean;
  }>(
    sql,
    `select m.id, m.created_at, m.state, m.provider_message_id, m.provider_txn_id, m.recipient, m.cost is not null as billed,
       m.submission_id, m.submission_created_at, m.requested_at, m.correlation_result is null as known
     from sendledger.outbound_message m
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3
     order by m.id for update`,
    rowKeys(refs),
  );
  return new Map(
    rows.map((row) => [
      row.id,
      {
        id: row.id,
        createdAt: row.created_at,
        state: row.state,
        providerMessageId: row.provider_message_id,
        providerTxnId: row.provider_txn_id,
        recipient: row.recipient,
        billed: row.billed,
        submission:
          row.submission_id === null || row.submission_created_at === null
            ? null
            : { id: row.submission_id, createdAt: row.submission_created_at },
        requestedAt: row.requested_at,
        known: row.known,
      },
    ]),
  );
}
