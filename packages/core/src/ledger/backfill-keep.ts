import type { BackfillDay } from './backfill-take.ts';
import { countOf, type Sql } from './sql.ts';

/** A row of a report that is no record; its evidence without text. */
export interface KeptBadRow {
  readonly file: number;
  readonly line: number;
  readonly reason: string;
  readonly evidence: Readonly<Record<string, string | null>>;
}

type Held = Pick<BackfillDay, 'id' | 'token'>;

/**
 * Says that a day moves, and asks whether it is still this worker's. False: the lease ran out and somebody took it, or the run was
 * cancelled; what is written in the same transaction must not stay.
 */
export async function holdBackfillDay(sql: Sql, { id, token }: Held, leaseMs: number): Promise<boolean> {
  const held = await countOf(
    sql,
    `update sendledger.job_checkpoint c set lease_until = now() + $3 * interval '1 ms'
     where c.id = $1 and c.lease_token = $2 and c.state in ('waiting', 'stored')`,
    [id, token, leaseMs],
  );
  return held > 0;
}

/** Notes which receipts a day brought, in the transaction that stores them: theirs is its now. Noted once, however often it is read. */
export async function noteBackfillReceipts(sql: Sql, { id }: Held, hashes: readonly Buffer[]): Promise<void> {
  if (hashes.length === 0) return;
  await sql.query(
    `insert into sendledger.job_receipt (checkpoint_id, dedupe_hash, fresh)
     select $1, r.dedupe_hash, bool_and(r.received_at = now()) from sendledger.delivery_receipt r
     where r.dedupe_hash = any ($2::bytea[]) group by r.dedupe_hash order by r.dedupe_hash
     on conflict do nothing`,
    [id, hashes],
  );
}

/** Keeps bad rows for a person to look at. */
export async function keepBadRows(sql: Sql, { id }: Held, rows: readonly KeptBadRow[]): Promise<void> {
  if (rows.length === 0) return;
  await sql.query(
    `insert into sendledger.job_bad_row (checkpoint_id, file_no, line_no, reason, evidence)
     select $1, b.file_no, b.line_no, b.reason, b.evidence
     from unnest($2::integer[], $3::bigint[], $4::text[], $5::jsonb[]) as b(file_no, line_no, reason, evidence)
     on conflict do nothing`,
    [
      id,
      rows.map((r) => r.file),
      rows.map((r) => r.line),
      rows.map((r) => r.reason),
      rows.map((r) => JSON.stringify(r.evidence)),
    ],
  );
}
