import { createHash } from 'node:crypto';
import { judgeReceipt, type ReceiptStatus } from '../domain/receipt.ts';
import type { MessageState } from '../domain/state.ts';
import { MOVED_ROW, type MovedRow, type RowRef, rowKeys } from './identity.ts';
import { openReview } from './open-review.ts';
import { dictionary } from './row-values.ts';
import { rowsOf, type Sql } from './sql.ts';

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
const ownerName = (origin: ReceiptOrigin) => `${origin.provider}/${origin.account}`;

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

/** Stores receipts before anybody acts on them. Answers how many are new. */
export async function recordReceipts(
  sql: Sql,
  origin: ReceiptOrigin,
  given: readonly ReceiptRecord[],
): Promise<{ readonly hashes: readonly Buffer[]; readonly fresh: number }> {
  // The same evidence twice in one call is one receipt.
  const distinct = new Map(given.map((record) => [receiptHash(ownerName(origin), record).toString('hex'), record]));
  if (distinct.size === 0) return { hashes: [], fresh: 0 };
  const hashes = [...distinct.keys()].map((hex) => Buffer.from(hex, 'hex'));
  const records = [...distinct.values()];
  const stored = await rowsOf<{ fresh: boolean }>(
    sql,
    `insert into sendledger.delivery_receipt (dedupe_hash, route_id, source, provider_txn_id, provider_message_id, recipient,
       sender_id, status_word, status, cause, cause_class, provider_submitted_at, provider_delivered_at, evidence)
     select u.dedupe_hash, $1::bigint, $2, u.provider_txn_id, u.provider_message_id, u.recipient, u.sender_id, u.status_word,
       u.status, u.cause, u.cause_class, u.submitted_at, u.delivered_at, u.evidence
     from unnest($3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
       $12::timestamptz[], $13::timestamptz[], $14::jsonb[]) as u(dedupe_hash, provider_txn_id, provider_message_id, recipient,
       sender_id, status_word, status, cause, cause_class, submitted_at, delivered_at, evidence)
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
    ],
  );
  for (const word of new Set(records.filter((r) => r.status === 'unmapped').map((r) => r.statusWord)))
    await openReview(sql, {
      kind: 'unmapped_status',
      subject: `${origin.provider} ${word}`,
      routeId: origin.routeId,
      evidence: {
        status_word: word,
        remedy: 'map the word; receipts that hold it are judged again when they are read again',
      },
    });
  return { hashes, fresh: stored.filter((row) => row.fresh).length };
}

export interface AppliedReceipts {
  readonly delivered: number;
  readonly failed: number;
  readonly conflicts: number;
  /** Receipts that match no row yet, or whose row is not ready for them. */
  readonly waiting: number;
}

interface StoredReceipt {
  hash: Buffer;
  receivedMonth: string;
  providerTxnId: string | null;
  providerMessageId: string | null;
  recipient: string | null;
  status: ReceiptStatus;
  cause: string | null;
  causeClass: string | null;
  deliveredAt: Date | null;
  receivedAt: Date;
}

interface Target extends RowRef {
  readonly state: MessageState;
  readonly providerMessageId: string | null;
  readonly providerTxnId: string | null;
  readonly recipient: string;
}

/** The id belongs to this row, and the receipt says in its other words that it means another one. */
function meansAnother(target: Target, receipt: StoredReceipt): boolean {
  return (
    (receipt.recipient !== null && receipt.recipient !== target.recipient) ||
    (receipt.providerTxnId !== null && target.providerTxnId !== null && receipt.providerTxnId !== target.providerTxnId)
  );
}

/** Receipts to apply in one transaction at most: the work of one grows with the square of their number. */
export const RECEIPTS_AT_ONCE = 500;

/**
 * Applies stored receipts that were not applied yet, named by their hashes: matches each to its row by the provider's
 * message id or by transaction and recipient, moves the row, and marks the receipt applied. Idempotent; any order of the
 * same receipts ends in the same row as long as the finals agree. `moved` is told of each row, for the log.
 */
export async function applyReceipts(
  sql: Sql,
  origin: ReceiptOrigin,
  hashes: readonly Buffer[],
  moved: (row: MovedRow) => void = () => undefined,
): Promise<AppliedReceipts> {
  const receipts = await lockUnapplied(sql, hashes);
  if (receipts.length === 0) return { delivered: 0, failed: 0, conflicts: 0, waiting: 0 };
  const targets = await match(sql, origin, receipts);

  let waiting = 0;
  const accepted: RowRef[] = [];
  const moves: { ref: RowRef; to: 'delivered' | 'failed'; receipt: StoredReceipt }[] = [];
  const conflicting: { ref: RowRef; receipt: StoredReceipt }[] = [];
  const done: { ref: RowRef; receipt: StoredReceipt; conflict: boolean }[] = [];
  // Two receipts for one row in one call: the second is judged against where the first leaves the row.
  const stateNow = new Map<string, MessageState>();

  for (const receipt of receipts) {
    const target = targets.get(receipt);
    if (target === undefined) {
      waiting++;
      continue;
    }
    if (meansAnother(target, receipt)) {
      waiting++;
      await openReview(sql, {
        kind: 'provider_message_owned',
        subject: `message ${target.id} ${receipt.providerMessageId} named for another`,
        routeId: origin.routeId,
        message: target,
        evidence: {
          provider_message_id: receipt.providerMessageId,
          owner: target.id,
          provider_txn_id: receipt.providerTxnId,
        },
      });
      continue;
    }
    const verdict = judgeReceipt(stateNow.get(target.id) ?? target.state, receipt.status);
    switch (verdict.kind) {
      case 'wait':
        waiting++;
        continue;
      case 'move':
        if (verdict.viaSubmitted) accepted.push(target);
        moves.push({ ref: target, to: verdict.to, receipt });
        stateNow.set(target.id, verdict.to);
        break;
      case 'accepted':
        accepted.push(target);
        stateNow.set(target.id, 'submitted');
        break;
      case 'conflict':
        conflicting.push({ ref: target, receipt });
        break;
      case 'noted':
        break;
    }
    done.push({ ref: target, receipt, conflict: verdict.kind === 'conflict' });
  }

  await acceptUnknown(sql, accepted);
  await learnMessageIds(sql, origin, done, targets);
  for (const row of await finish(sql, moves)) moved(row);
  await flagConflicts(sql, origin, conflicting);
  await markApplied(sql, done);
  return {
    delivered: moves.filter((m) => m.to === 'delivered').length,
    failed: moves.filter((m) => m.to === 'failed').length,
    conflicts: conflicting.length,
    waiting,
  };
}

async function lockUnapplied(sql: Sql, hashes: readonly Buffer[]): Promise<StoredReceipt[]> {
  const rows = await rowsOf<{
    dedupe_hash: Buffer;
    received_month: string;
    provider_txn_id: string | null;
    provider_message_id: string | null;
    recipient: string | null;
    status: ReceiptStatus;
    cause: string | null;
    cause_class: string | null;
    provider_delivered_at: Date | null;
    received_at: Date;
  }>(
    sql,
    `select r.dedupe_hash, r.received_month::text, r.provider_txn_id, r.provider_message_id, r.recipient, r.status, r.cause,
       r.cause_class, r.provider_delivered_at, r.received_at
     from sendledger.delivery_receipt r
     where r.dedupe_hash = any ($1::bytea[]) and coalesce(r.applied_at, 'infinity') = 'infinity'
     order by r.received_at, r.id
     for update`,
    [hashes],
  );
  return rows.map((row) => ({
    hash: row.dedupe_hash,
    receivedMonth: row.received_month,
    providerTxnId: row.provider_txn_id,
    providerMessageId: row.provider_message_id,
    recipient: row.recipient,
    status: row.status,
    cause: row.cause,
    causeClass: row.cause_class,
    deliveredAt: row.provider_delivered_at,
    receivedAt: row.received_at,
  }));
}

/** Rows by the id the provider gave them, else by transaction and recipient; locked in order of their ids. */
async function match(
  sql: Sql,
  origin: ReceiptOrigin,
  receipts: readonly StoredReceipt[],
): Promise<Map<StoredReceipt, Target>> {
  const owners = await rowsOf<{ provider_message_id: string; message_id: string; message_created_at: Date }>(
    sql,
    `select p.provider_message_id, p.message_id, p.message_created_at from sendledger.provider_message p
     where p.account = $1 and p.provider_message_id = any ($2::text[]) and p.era = 0`,
    [ownerName(origin), receipts.map((r) => r.providerMessageId).filter((id) => id !== null)],
  );
  const ownerOf = new Map(
    owners.map((o) => [o.provider_message_id, { id: o.message_id, createdAt: o.message_created_at }]),
  );
  const byTxn = receipts.filter((r) => r.providerTxnId !== null && !ownerOf.has(r.providerMessageId ?? ''));
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
      ownerOf.get(receipt.providerMessageId ?? '') ?? byPair.get(`${receipt.providerTxnId} ${receipt.recipient}`);
    if (ref !== undefined) refs.set(receipt, ref);
  }
  const locked = await lockRows(sql, [...refs.values()]);
  const targets = new Map<StoredReceipt, Target>();
  for (const [receipt, ref] of refs) {
    const target = locked.get(ref.id);
    if (target !== undefined) targets.set(receipt, target);
  }
  return targets;
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
  }>(
    sql,
    `select m.id, m.created_at, m.state, m.provider_message_id, m.provider_txn_id, m.recipient from sendledger.outbound_message m
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
      },
    ]),
  );
}

/** unknown → submitted: a report that names our transaction, or an id we own, proves acceptance. Billed at the frozen quote. */
async function acceptUnknown(sql: Sql, refs: readonly RowRef[]): Promise<void> {
  if (refs.length === 0) return;
  await sql.query(
    `update sendledger.outbound_message m
     set state = 'submitted', state_reason = 'receipt', updated_at = now(), reconciled_at = now(), submitted_at = m.requested_at,
       receipt_by = greatest(now(), m.scheduled_for) + (select l.receipt_within from sendledger.lane l
         where l.route_id = m.route_id and l.message_class = m.message_class),
       billable_units = m.quoted_units, cost = m.quoted_cost, cost_currency = m.quoted_currency, cost_source = 'quote',
       correlation_result = 'matched'
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text = 'unknown'`,
    rowKeys(refs),
  );
}

/**
 * The first report names the provider's id of each recipient: registered once, filled in once. A second, different id for a
 * row is evidence of a double send, and an id that another row owns is an alarm: a review item, never an overwrite.
 */
async function learnMessageIds(
  sql: Sql,
  origin: ReceiptOrigin,
  done: readonly { ref: RowRef; receipt: StoredReceipt }[],
  targets: ReadonlyMap<StoredReceipt, Target>,
): Promise<void> {
  const learn = new Map<string, { ref: RowRef; id: string }>();
  for (const { ref, receipt } of done) {
    const id = receipt.providerMessageId;
    if (id === null) continue;
    const known = targets.get(receipt)?.providerMessageId ?? learn.get(ref.id)?.id ?? null;
    if (known === null) learn.set(ref.id, { ref, id });
    else if (known !== id)
      await openReview(sql, {
        kind: 'second_provider_message',
        subject: `message ${ref.id} ${id}`,
        routeId: origin.routeId,
        message: ref,
        evidence: { first: known, second: id, provider_txn_id: receipt.providerTxnId },
      });
  }
  if (learn.size === 0) return;
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
  const mine = wanted.filter((w) => ownerOf.get(w.id) === w.ref.id);
  for (const foreign of wanted.filter((w) => ownerOf.get(w.id) !== w.ref.id))
    await openReview(sql, {
      kind: 'provider_message_owned',
      subject: `message ${foreign.ref.id} ${foreign.id}`,
      routeId: origin.routeId,
      message: foreign.ref,
      evidence: { provider_message_id: foreign.id, owner: ownerOf.get(foreign.id) ?? null },
    });
  if (mine.length === 0) return;
  await sql.query(
    `update sendledger.outbound_message m
     set provider_message_id = ($4::text[])[array_position($1::bigint[], m.id)], updated_at = now()
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.provider_message_id is null
       and m.state in ('submitted', 'delivered', 'failed', 'expired')`,
    [...rowKeys(mine.map((w) => w.ref)), mine.map((w) => w.id)],
  );
}

async function finish(
  sql: Sql,
  moves: readonly { ref: RowRef; to: 'delivered' | 'failed'; receipt: StoredReceipt }[],
): Promise<MovedRow[]> {
  if (moves.length === 0) return [];
  const causes = dictionary(moves.map((m) => m.receipt.cause));
  const classes = dictionary(moves.map((m) => m.receipt.causeClass));
  return rowsOf<MovedRow>(
    sql,
    `update sendledger.outbound_message m
     set (state, delivered_at, provider_cause, state_reason, updated_at, reconciled_at) = (
       select x.state, case when x.state = 'delivered' then ($5::timestamptz[])[x.pos] end,
         coalesce(($8::text[])[($6::integer[])[x.pos]], m.provider_cause), ($9::text[])[($7::integer[])[x.pos]], now(), now()
       from (select p.pos, (($4::text[])[p.pos])::sendledger.message_state as state
         from (select array_position($1::bigint[], m.id) as pos) p) x)
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text = 'submitted'
     returning ${MOVED_ROW}`,
    [
      ...rowKeys(moves.map((m) => m.ref)),
      moves.map((m) => m.to),
      // The provider's clock where it gave one, else ours: when the receipt came.
      moves.map((m) => m.receipt.deliveredAt ?? m.receipt.receivedAt),
      causes.places,
      classes.places,
      causes.values,
      classes.values,
    ],
  );
}

async function flagConflicts(
  sql: Sql,
  origin: ReceiptOrigin,
  conflicts: readonly { ref: RowRef; receipt: StoredReceipt }[],
): Promise<void> {
  if (conflicts.length === 0) return;
  await sql.query(
    `update sendledger.outbound_message m set conflict = true, updated_at = now()
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and not m.conflict
       and m.state in ('delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded')`,
    rowKeys(conflicts.map((c) => c.ref)),
  );
  for (const { ref, receipt } of conflicts)
    await openReview(sql, {
      kind: 'receipt_conflict',
      subject: `message ${ref.id} ${receipt.status}`,
      routeId: origin.routeId,
      message: ref,
      evidence: { status: receipt.status, provider_message_id: receipt.providerMessageId, cause: receipt.cause },
    });
}

async function markApplied(
  sql: Sql,
  done: readonly { ref: RowRef; receipt: StoredReceipt; conflict: boolean }[],
): Promise<void> {
  if (done.length === 0) return;
  await sql.query(
    `update sendledger.delivery_receipt r
     set (message_id, message_created_at, applied_at, conflict) = (
       select ($3::bigint[])[x.pos], ($4::timestamptz[])[x.pos], now(), ($5::boolean[])[x.pos]
       from (select array_position($1::bytea[], r.dedupe_hash) as pos) x)
     where r.dedupe_hash = any ($1::bytea[]) and r.received_month = any ($2::date[])
       and coalesce(r.applied_at, 'infinity') = 'infinity'`,
    [
      done.map((d) => d.receipt.hash),
      done.map((d) => d.receipt.receivedMonth),
      done.map((d) => d.ref.id),
      done.map((d) => d.ref.createdAt),
      done.map((d) => d.conflict),
    ],
  );
}
