import type { BackfillDay } from './backfill-take.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';

/** Receipts of a day that nobody applied yet, in the order of their hashes, from the one after `after` on. */
export async function unappliedOfDay(
  sql: Sql,
  checkpointId: string,
  after: Buffer,
  limit: number,
): Promise<{ readonly hash: Buffer; readonly receivedMonth: string }[]> {
  return rowsOf(
    sql,
    `select j.dedupe_hash as hash, min(r.received_month)::text as "receivedMonth"
     from sendledger.job_receipt j join sendledger.delivery_receipt r on r.dedupe_hash = j.dedupe_hash
     where j.checkpoint_id = $1 and j.dedupe_hash > $2 and r.applied_at is null
     group by j.dedupe_hash order by j.dedupe_hash limit $3`,
    [checkpointId, after, limit],
  );
}

/**
 * stored → applied, with the sums of the day as they are now. What is not applied by then waits for its row like any other receipt.
 * Answers whether the day was still this worker's.
 */
export async function backfillDayApplied(
  sql: Sql,
  { id, token }: Pick<BackfillDay, 'id' | 'token'>,
  orphans: number,
): Promise<boolean> {
  const moved = await countOf(
    sql,
    `update sendledger.job_checkpoint c
     set state = 'applied', finished_at = now(), lease_token = null, lease_until = null, worker_id = null, orphans = $3,
       (receipts, fresh, applied) = (
         select count(*), count(*) filter (where j.fresh),
           count(*) filter (where exists (select from sendledger.delivery_receipt r where r.dedupe_hash = j.dedupe_hash and r.applied_at is not null))
         from sendledger.job_receipt j where j.checkpoint_id = c.id)
     where c.id = $1 and c.lease_token = $2 and c.state = 'stored'`,
    [id, token, orphans],
  );
  return moved > 0;
}
