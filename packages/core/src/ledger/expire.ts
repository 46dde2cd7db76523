import { MOVED_ROW, type MovedRow } from './identity.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';

/** pending|retry → expired where `submit_by` passed: the message is worthless now, and is counted rather than sent late. */
export async function expireUnsubmitted(
  sql: Sql,
  limit: number,
  moved: (row: MovedRow) => void = () => undefined,
): Promise<number> {
  const rows = await rowsOf<MovedRow>(
    sql,
    `with late as materialized (
       select m.id, m.created_at from sendledger.outbound_message m
       where m.state in ('pending', 'retry') and m.submit_by <= now()
       order by m.submit_by limit $1 for update skip locked
     )
     update sendledger.outbound_message m
     set state = 'expired', updated_at = now(), state_reason = coalesce(m.state_reason,
       case when m.scheduled_for is not null and m.claimed_at is null then 'schedule_passed' else 'submit_by_passed' end)
     where m.id = any (array(select l.id from late l))
       and m.created_at >= (select min(l.created_at) from late l) and m.created_at <= (select max(l.created_at) from late l)
       and m.state::text in ('pending', 'retry')
     returning ${MOVED_ROW}`,
    [limit],
  );
  for (const row of rows) moved(row);
  return rows.length;
}

/**
 * submitted → expired where the validity window is over, for submissions whose report was just read and applied: the last
 * look comes first. The cost stays, it was charged at submission.
 *
 * @param doubtful submissions whose report showed less than all of their recipients: nobody knows whether it comes in pages, so
 *   their rows are looked for a day longer
 */
export async function expireUnconfirmed(
  sql: Sql,
  submissionIds: readonly string[],
  doubtful: readonly string[] = [],
): Promise<number> {
  if (submissionIds.length === 0) return 0;
  return countOf(
    sql,
    `with over as materialized (
       -- By id, as receipts lock them: two jobs that take the same rows in two orders would end one of them.
       select m.id, m.created_at from sendledger.outbound_message m
       where m.submission_id = any ($1::bigint[]) and m.state = 'submitted' and m.receipt_by <= now()
         and (m.receipt_by <= now() - interval '1 day' or m.submission_id <> all ($2::bigint[]))
       order by m.id for no key update
     )
     update sendledger.outbound_message m
     set state = 'expired', state_reason = 'no_receipt', updated_at = now(), reconciled_at = now()
     where m.id = any (array(select o.id from over o))
       and m.created_at >= (select min(o.created_at) from over o) and m.created_at <= (select max(o.created_at) from over o)
       and m.state::text = 'submitted'`,
    [submissionIds, doubtful],
  );
}
