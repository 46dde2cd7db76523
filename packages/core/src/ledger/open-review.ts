import type { RowRef } from './identity.ts';
import { countOf, type Sql } from './sql.ts';

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
}

/** Opens a review item unless the same question is open. Answers whether it is new. */
export async function openReview(sql: Sql, item: ReviewRequest): Promise<boolean> {
  const opened = await countOf(
    sql,
    `insert into sendledger.review_item
       (kind, subject, route_id, message_id, message_created_at, submission_id, submission_created_at, evidence)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (kind, subject) where resolved_at is null do nothing`,
    [
      item.kind,
      item.subject,
      item.routeId ?? null,
      item.message?.id ?? null,
      item.message?.createdAt ?? null,
      item.submission?.id ?? null,
      item.submission?.createdAt ?? null,
      JSON.stringify(item.evidence),
    ],
  );
  return opened === 1;
}
