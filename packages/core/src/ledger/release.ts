import type { RowRef } from './identity.ts';
import { rowKeys } from './identity.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';

export interface Released {
  readonly submissions: number;
  readonly rows: number;
}

/**
 * open → released, and the rows back to pending. The submission row is written first: that is what a mark of the same
 * submission collides with, and of the two exactly one finds it open. What is not open any more is left alone.
 */
export async function release(sql: Sql, submissions: readonly RowRef[]): Promise<Released> {
  if (submissions.length === 0) return { submissions: 0, rows: 0 };
  const [ids, earliest, latest] = rowKeys(submissions);
  const released = await rowsOf<{ id: string }>(
    sql,
    `with locked as materialized (
       select s.id, s.created_at from sendledger.submission s
       where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3 and s.state::text = 'open'
       order by s.id
       for update
     )
     update sendledger.submission s set state = 'released'
     where s.id = any (array(select l.id from locked l)) and s.created_at >= $2 and s.created_at <= $3 and s.state::text = 'open'
     returning s.id`,
    [ids, earliest, latest],
  );
  if (released.length === 0) return { submissions: 0, rows: 0 };
  const rows = await countOf(
    sql,
    `update sendledger.outbound_message m
     set state = 'pending', submission_id = null, submission_created_at = null, updated_at = now()
     where m.submission_id = any ($1::bigint[]) and m.state = 'claimed'`,
    [released.map((s) => s.id)],
  );
  return { submissions: released.length, rows };
}

/** Submissions this worker claimed and nobody marked: given back on shutdown, so that they do not wait for their lease. */
export async function releaseClaimedBy(sql: Sql, workerId: string, limit: number): Promise<Released> {
  const rows = await rowsOf<{ id: string; created_at: Date }>(
    sql,
    `select s.id, s.created_at from sendledger.submission s
     where s.state = 'open' and s.claimed_by = $1 order by s.id limit $2 for update skip locked`,
    [workerId, limit],
  );
  return release(
    sql,
    rows.map((row) => ({ id: row.id, createdAt: row.created_at })),
  );
}
