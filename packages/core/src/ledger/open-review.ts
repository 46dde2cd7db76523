import type { RowRef } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface ReviewRequest {
  /** What has to be decided: `no_rate`, `unmapped_code`, `stranger_in_reply`, … */
  readonly kind: string;
  /** Makes a second opening of the same question a no-op while the first is open. */
  readonly subject: string;
  readonly routeId?: string;
  readonly message?: RowRef;
  readonly submission?: RowRef;
  /** What a person needs to see. Never a body, a code or a credential. */
  readonly evidence: Record<string, unknown>;
  /** A person who left the question as it is has answered it: it is not asked again. */
  readonly once?: boolean;
  /** What is known has grown: an open item shows the newest evidence. */
  readonly refresh?: boolean;
}

/** Opens a review item unless the same question is open. Answers whether it is new. */
export async function openReview(sql: Sql, item: ReviewRequest): Promise<boolean> {
  const [row] = await rowsOf<{ opened: boolean }>(
    sql,
    `insert into sendledger.review_item
       (kind, subject, route_id, message_id, message_created_at, submission_id, submission_created_at, evidence)
     select $1, $2, $3, $4, $5, $6, $7, $8
     where not ($9::boolean and exists (select from sendledger.review_item v
       where v.kind = $1 and v.subject = $2 and v.resolution = 'leave'))
     on conflict (kind, subject) where resolved_at is null do update set evidence = excluded.evidence
       where $10::boolean and review_item.evidence is distinct from excluded.evidence
     returning (xmax = 0) as opened`,
    [
      item.kind,
      item.subject,
      item.routeId ?? null,
      item.message?.id ?? null,
      item.message?.createdAt ?? null,
      item.submission?.id ?? null,
      item.submission?.createdAt ?? null,
      JSON.stringify(item.evidence),
      item.once ?? false,
      item.refresh ?? false,
    ],
  );
  return row?.opened === true;
}
