import { rowsOf, type Sql } from './sql.ts';

export interface OpenReviews {
  readonly kind: string;
  readonly open: number;
  readonly oldestAt: Date;
}

/** What waits for a person's decision, by kind. */
export async function openReviewCounts(sql: Sql): Promise<OpenReviews[]> {
  return rowsOf<OpenReviews>(
    sql,
    `select v.kind, count(*)::integer as open, min(v.opened_at) as "oldestAt"
     from sendledger.review_item v where v.resolved_at is null group by v.kind order by v.kind`,
  );
}
