import type { ReceiptStatus } from '../domain/receipt.ts';
import type { StoredReceipt } from './match-receipts.ts';
import { openReview } from './open-review.ts';
import type { ReceiptOrigin } from './receipt-record.ts';
import { rowsOf, type Sql } from './sql.ts';

/** How long a receipt that matches nothing is looked at again: longer than any delivery window. */
const LISTED_AFTER = '7 days';

/**
 * A word that nobody mapped may be mapped any day, and then the receipt is worth what it says: it waits for that, and not for a
 * message. The word of a hint decides nothing, so a hint that is not applied waits for its message whatever it says.
 */
const waitsForItsWord = (receipt: StoredReceipt): boolean => receipt.status === 'unmapped' && !receipt.hint;

/**
 * Receipts that could not be applied yet are looked at again, ever more seldom: after five seconds, at last once an hour. After
 * a week they are left for a person; those that wait for their word are looked at once a day for as long as they are there.
 */
export async function postponeReceipts(sql: Sql, receipts: readonly StoredReceipt[]): Promise<void> {
  if (receipts.length === 0) return;
  await sql.query(
    `update sendledger.delivery_receipt r
     set looks = least(r.looks + 1, 1000),
       next_look_at = case
         when r.received_at < now() - interval '${LISTED_AFTER}' and r.status = 'unmapped' and not r.hint then now() + interval '1 day'
         when r.received_at < now() - interval '${LISTED_AFTER}' then 'infinity'
         else now() + least(interval '5 s' * power(2, least(r.looks, 12)), interval '1 hour') end
     where r.dedupe_hash = any ($1::bytea[]) and r.received_month = any ($2::date[])
       and coalesce(r.applied_at, 'infinity') = 'infinity'`,
    [receipts.map((r) => r.hash), receipts.map((r) => r.receivedMonth)],
  );
  const given = receipts.filter((r) => Date.now() - r.receivedAt.getTime() > 7 * 86_400_000 && !waitsForItsWord(r));
  for (const receipt of given)
    await openReview(sql, {
      kind: 'unmatched_receipt',
      subject: `receipts of ${receipt.receivedMonth}`,
      evidence: {
        provider_txn_id: receipt.providerTxnId,
        provider_message_id: receipt.providerMessageId,
        status: receipt.status,
        remedy: 'receipts that match no message for a week: of another system that uses the account, or of a lost row',
      },
    });
}

/** A stored receipt that waits, with what a word is judged by. */
export interface WaitingReceipt {
  readonly hash: Buffer;
  readonly receivedMonth: string;
  readonly statusWord: string;
  readonly cause: string | null;
  readonly status: ReceiptStatus;
  readonly origin: ReceiptOrigin;
}

/** Takes receipts whose next look is due, of the accounts this process can judge; locked, what others hold is skipped. */
export async function takeWaitingReceipts(
  sql: Sql,
  limit: number,
  accounts: readonly string[],
): Promise<WaitingReceipt[]> {
  const rows = await rowsOf<{
    dedupe_hash: Buffer;
    received_month: string;
    status_word: string;
    cause: string | null;
    status: ReceiptStatus;
    route_id: string;
    provider: string;
    account: string;
    source: ReceiptOrigin['source'];
    hint: boolean;
  }>(
    sql,
    `select r.dedupe_hash, r.received_month::text, r.status_word, r.cause, r.status, r.route_id, t.provider, t.account, r.source, r.hint
     from sendledger.delivery_receipt r
     join sendledger.route t on t.id = r.route_id
     where r.applied_at is null and r.next_look_at <= now() and t.provider || '/' || t.account = any ($2::text[])
     order by r.next_look_at limit $1
     for update of r skip locked`,
    [limit, accounts],
  );
  return rows.map((row) => ({
    hash: row.dedupe_hash,
    receivedMonth: row.received_month,
    statusWord: row.status_word,
    cause: row.cause,
    status: row.status,
    origin: { routeId: row.route_id, provider: row.provider, account: row.account, source: row.source, hint: row.hint },
  }));
}

/** A word that was mapped since it was stored is judged anew; what was applied stays as it was. */
export async function rejudgeReceipts(
  sql: Sql,
  receipts: readonly {
    readonly hash: Buffer;
    readonly receivedMonth: string;
    readonly status: ReceiptStatus;
    readonly causeClass: string;
  }[],
): Promise<void> {
  if (receipts.length === 0) return;
  await sql.query(
    `update sendledger.delivery_receipt r
     set status = ($3::text[])[array_position($1::bytea[], r.dedupe_hash)], cause_class = ($4::text[])[array_position($1::bytea[], r.dedupe_hash)]
     where r.dedupe_hash = any ($1::bytea[]) and r.received_month = any ($2::date[])
       and coalesce(r.applied_at, 'infinity') = 'infinity'`,
    [
      receipts.map((r) => r.hash),
      receipts.map((r) => r.receivedMonth),
      receipts.map((r) => r.status),
      receipts.map((r) => r.causeClass),
    ],
  );
}
