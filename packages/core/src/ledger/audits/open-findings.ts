import { rowsOf, type Sql } from '../sql.ts';

export interface AuditResult {
  /** All that was found, also what has its item already, was decided, or is over the bound. */
  readonly findings: number;
  /** Review items that are new. */
  readonly opened: number;
}

export interface AuditQuery {
  /** Kind of its review items. */
  readonly kind: string;
  /**
   * A query of the findings: `subject, route_id, message_id, message_created_at, submission_id, submission_created_at, weight`
   * (how many it stands for), `since` (the oldest gets its item first) and `evidence`. Its parameters start at $5.
   */
  readonly findings: string;
  readonly values?: readonly unknown[];
  /** Items opened in one run. */
  readonly limit: number;
  /** The finding may come again: it is asked again a day after a person decided it. Else a decided one is never asked again. */
  readonly comesAgain?: boolean;
  /** No item for a message about which another question is open. */
  readonly unlessAsked?: boolean;
}

/**
 * Opens a review item for each finding, once: not while one is open, and not after a person decided it. One statement, so that
 * two runs at once open each item once, by the unique index on open items.
 */
export async function openFindings(sql: Sql, audit: AuditQuery): Promise<AuditResult> {
  const [row] = await rowsOf<{ findings: string; opened: string }>(
    sql,
    `with found as materialized (${audit.findings}),
     asked as materialized (
       select v.subject from sendledger.review_item v where v.kind = $1
         and (v.resolved_at is null or (v.resolution <> 'no_longer_found' and (not $3::boolean or v.resolved_at > now() - interval '1 day')))
     ), opened as (
       insert into sendledger.review_item
         (kind, subject, route_id, message_id, message_created_at, submission_id, submission_created_at, evidence)
       select $1, f.subject, f.route_id, f.message_id, f.message_created_at, f.submission_id, f.submission_created_at, f.evidence
       from found f where f.subject not in (select a.subject from asked a)
         and not ($4::boolean and exists (select from sendledger.review_item o
           where o.message_id = f.message_id and o.resolved_at is null and o.kind <> $1))
       order by f.since, f.subject limit $2
       on conflict (kind, subject) where resolved_at is null do nothing
       returning 1
     )
     select (select coalesce(sum(f.weight), 0) from found f)::text as findings, (select count(*) from opened)::text as opened`,
    [audit.kind, audit.limit, audit.comesAgain ?? false, audit.unlessAsked ?? false, ...(audit.values ?? [])],
  );
  return { findings: Number(row?.findings ?? 0), opened: Number(row?.opened ?? 0) };
}

/** Closes items whose finding is there no more. `gone` is a condition on the item `v`. */
export async function closeGone(sql: Sql, kind: string, gone: string): Promise<void> {
  await sql.query(
    `update sendledger.review_item v
     set resolved_at = now(), resolved_by = 'sendledger', resolution = 'no_longer_found', note = 'the audit does not find it any more'
     where v.kind = $1 and v.resolved_at is null and ${gone}`,
    [kind],
  );
}
