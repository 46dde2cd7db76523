import { byId, type RowRef, sortedRowKeys } from './identity.ts';
import type { StoredReceipt, Target } from './match-receipts.ts';
import { openReview } from './open-review.ts';
import { ownerName, type ReceiptOrigin } from './receipt-record.ts';
import { rowsOf, type Sql } from './sql.ts';

/** A provider's id that a row is to have. */
export interface LearnedId {
  readonly ref: RowRef;
  readonly id: string;
}

/**
 * The first report names the provider's id of each recipient: registered here, once; the rows that it belongs in are answered, for
 * whoever writes them next. A second, different id for a row is evidence of a double send, and an id that another row owns is an
 * alarm: a review item, never an overwrite.
 */
export async function learnMessageIds(
  sql: Sql,
  origin: ReceiptOrigin,
  done: readonly { ref: RowRef; receipt: StoredReceipt }[],
  targets: ReadonlyMap<StoredReceipt, Target>,
): Promise<ReadonlyMap<string, LearnedId>> {
  const learn = new Map<string, LearnedId>();
  for (const { ref, receipt } of done) {
    const id = receipt.providerMessageId;
    if (id === null) continue;
    const known = targets.get(receipt)?.providerMessageId ?? learn.get(ref.id)?.id ?? null;
    if (known === null) learn.set(ref.id, { ref, id });
    else if (known !== id) {
      // It is this row's too, whatever it means: nobody else's record.
      await ownAlso(sql, origin, ref, id);
      await openReview(sql, {
        kind: 'second_provider_message',
        subject: `message ${ref.id} ${id}`,
        routeId: origin.routeId,
        message: ref,
        once: true,
        evidence: { first: known, second: id, provider_txn_id: receipt.providerTxnId },
      });
    }
  }
  if (learn.size === 0) return learn;
  const wanted = [...learn.values()];
  const owned = await rowsOf<{ provider_message_id: string; message_id: string }>(
    sql,
    `with given as materialized (
       select * from unnest($2::text[], $3::bigint[], $4::timestamptz[]) as g(provider_message_id, message_id, message_created_at)
     ), made as (
       insert into sendledger.provider_message (account, provider_message_id, message_id, message_created_at)
       select $1, g.provider_message_id, g.message_id, g.message_created_at from given g order by g.provider_message_id
       on conflict do nothing
       returning provider_message_id, message_id
     )
     select m.provider_message_id, m.message_id from made m
     union all
     select p.provider_message_id, p.message_id from sendledger.provider_message p
     where p.account = $1 and p.provider_message_id = any ($2::text[]) and p.era = 0`,
    [ownerName(origin), wanted.map((w) => w.id), wanted.map((w) => w.ref.id), wanted.map((w) => w.ref.createdAt)],
  );
  const ownerOf = new Map(owned.map((o) => [o.provider_message_id, o.message_id]));
  for (const foreign of wanted.filter((w) => ownerOf.get(w.id) !== w.ref.id))
    await openReview(sql, {
      kind: 'provider_message_owned',
      subject: `message ${foreign.ref.id} ${foreign.id}`,
      routeId: origin.routeId,
      message: foreign.ref,
      once: true,
      evidence: { provider_message_id: foreign.id, owner: ownerOf.get(foreign.id) ?? null },
    });
  return new Map(wanted.filter((w) => ownerOf.get(w.id) === w.ref.id).map((w) => [w.ref.id, w]));
}

/** Fills in the ids of rows that no other statement writes now. */
export async function keepMessageIds(sql: Sql, given: readonly LearnedId[]): Promise<void> {
  if (given.length === 0) return;
  const learned = byId(given.map(({ ref, id }) => ({ ...ref, providerId: id })));
  await sql.query(
    `update sendledger.outbound_message m
     set provider_message_id = ($4::text[])[width_bucket(m.id, $1::bigint[])], updated_at = now()
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.provider_message_id is null
       and m.state in ('submitted', 'delivered', 'failed', 'expired', 'rejected', 'cancelled')`,
    [...sortedRowKeys(learned), learned.map((one) => one.providerId)],
  );
}

/** A second id of a row is registered beside the first, so that its record is never taken for another message's. */
async function ownAlso(sql: Sql, origin: ReceiptOrigin, ref: RowRef, id: string): Promise<void> {
  await sql.query(
    `insert into sendledger.provider_message (account, provider_message_id, message_id, message_created_at)
     values ($1, $2, $3, $4) on conflict do nothing`,
    [ownerName(origin), id, ref.id, ref.createdAt],
  );
}
