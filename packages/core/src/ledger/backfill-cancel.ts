import { countOf, rowsOf, type Sql } from './sql.ts';

/**
 * Ends a run: what was not read is not read any more, and a worker that reads a day of it just then can store no more of it. What is
 * stored stays evidence. Answers how many days were still open, or null where there is no such run.
 */
export async function cancelBackfill(sql: Sql, runId: string, who: string): Promise<number | null> {
  const known = await rowsOf(
    sql,
    `select 1 from sendledger.job_run r where r.id = $1 and r.kind = 'backfill' for update`,
    [runId],
  );
  if (known.length === 0) return null;
  const open = await countOf(
    sql,
    `update sendledger.job_checkpoint c set state = 'cancelled', finished_at = now(), lease_token = null, lease_until = null, worker_id = null
     where c.run_id = $1 and c.state in ('waiting', 'stored')`,
    [runId],
  );
  if (open > 0)
    await sql.query(
      'update sendledger.job_run r set cancelled_at = now(), cancelled_by = $2 where r.id = $1 and r.cancelled_at is null',
      [runId, who],
    );
  return open;
}
