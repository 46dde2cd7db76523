import { rowsOf, type Sql } from '../sql.ts';

export interface ReviewKind {
  readonly kind: string;
  readonly open: number;
  /** Seconds since the oldest open one was opened; 0 when none is. */
  readonly oldestSeconds: number;
}

/** Every kind of question that was ever asked, and how many wait: a kind that nobody waits for reads 0 and not nothing. */
export async function reviewKinds(sql: Sql): Promise<ReviewKind[]> {
  return rowsOf<ReviewKind>(
    sql,
    `with recursive kinds (kind) as (
       (select v.kind from sendledger.review_item v order by v.kind limit 1)
       union all
       select (select v.kind from sendledger.review_item v where v.kind > k.kind order by v.kind limit 1) from kinds k where k.kind is not null
     ), waiting as (
       select v.kind, count(*)::integer as open, extract(epoch from now() - min(v.opened_at))::double precision as seconds
       from sendledger.review_item v where v.resolved_at is null group by v.kind
     )
     select k.kind, coalesce(w.open, 0) as open, greatest(0, coalesce(w.seconds, 0)) as "oldestSeconds"
     from kinds k left join waiting w on w.kind = k.kind where k.kind is not null order by k.kind`,
  );
}
