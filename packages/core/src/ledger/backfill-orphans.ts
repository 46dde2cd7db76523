import { rowsOfReceipts, type StoredReceipt } from './match-receipts.ts';
import type { ReceiptOrigin, ReceiptSource } from './receipt-record.ts';
import { rowsOf, type Sql } from './sql.ts';

/** A record that the provider has and we have no message for: of another system that uses the account, or of a lost row. */
export interface Orphan {
  readonly day: string;
  readonly provider: string;
  readonly account: string;
  readonly providerTxnId: string | null;
  readonly providerMessageId: string | null;
  readonly recipient: string | null;
  readonly senderId: string | null;
  readonly statusWord: string;
  readonly submittedAt: Date | null;
  readonly hash: Buffer;
}

type Unapplied = StoredReceipt &
  Omit<Orphan, 'hash'> & { readonly checkpointId: string; readonly routeId: string; readonly source: ReceiptSource };

/** What was stored in two months is one record. */
const UNAPPLIED = `
  select distinct on (j.checkpoint_id, j.dedupe_hash) r.dedupe_hash as hash, r.received_month::text as "receivedMonth", r.provider_txn_id as "providerTxnId", r.provider_message_id as "providerMessageId",
    r.recipient, r.sender_id as "senderId", r.status, r.status_word as "statusWord", r.cause, r.cause_class as "causeClass",
    r.provider_submitted_at as "submittedAt", r.provider_delivered_at as "deliveredAt", r.received_at as "receivedAt", r.hint,
    case when r.message_id is not null then json_build_object('id', r.message_id::text, 'createdAt', r.message_created_at) end as pinned,
    c.id as "checkpointId", c.day::text as day, c.provider, c.account, c.route_id as "routeId", r.source
  from sendledger.job_receipt j
  join sendledger.job_checkpoint c on c.id = j.checkpoint_id
  join sendledger.delivery_receipt r on r.dedupe_hash = j.dedupe_hash and r.applied_at is null`;

/** How many of these receipts, which a day brought and nobody applied, match no message. */
export async function countOrphans(sql: Sql, checkpointId: string, hashes: readonly Buffer[]): Promise<number> {
  const rows = await rowsOf<Unapplied>(
    sql,
    `${UNAPPLIED} where j.checkpoint_id = $1 and j.dedupe_hash = any ($2::bytea[])
     order by j.checkpoint_id, j.dedupe_hash`,
    [checkpointId, hashes],
  );
  return (await unmatched(sql, rows)).length;
}

/** Receipts looked at in one statement. */
const AT_ONCE = 500;

/**
 * Records of a run that match no message now, in the order of its checkpoints. Asked again each time: a row that comes later takes its
 * receipt, and one that is not ready for it is no orphan's.
 */
export async function backfillOrphans(sql: Sql, runId: string, limit: number): Promise<Orphan[]> {
  const found: Orphan[] = [];
  let [checkpoint, after]: [string, Buffer] = ['0', Buffer.alloc(0)];
  while (found.length < limit) {
    const rows = await rowsOf<Unapplied>(
      sql,
      `${UNAPPLIED} where c.run_id = $1 and (j.checkpoint_id, j.dedupe_hash) > ($2::bigint, $3::bytea)
       order by j.checkpoint_id, j.dedupe_hash limit $4`,
      [runId, checkpoint, after, AT_ONCE],
    );
    const last = rows.at(-1);
    if (last === undefined) break;
    [checkpoint, after] = [last.checkpointId, last.hash];
    found.push(...(await unmatched(sql, rows)));
  }
  return found.slice(0, limit);
}

async function unmatched(sql: Sql, rows: readonly Unapplied[]): Promise<Unapplied[]> {
  const found: Unapplied[] = [];
  for (const group of Map.groupBy(rows, (row) => `${row.provider}/${row.account}`).values()) {
    const [first] = group;
    if (first === undefined) continue;
    const origin: ReceiptOrigin = {
      routeId: first.routeId,
      provider: first.provider,
      account: first.account,
      source: 'day',
    };
    const owners = await rowsOfReceipts(sql, origin, group);
    found.push(...group.filter((row) => !owners.has(row)));
  }
  return found;
}
