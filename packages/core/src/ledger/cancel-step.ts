import type { CancellationFact } from './cancel-record.ts';
import type { RowRef } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface CancelStep {
  /** Covered messages of this page that a request could still be made of. None on the first page: nothing is left to do. */
  readonly found: number;
  readonly cancelled: readonly RowRef[];
  /** Rows given back to `pending` with the submissions of covered ones; those of others are claimed again. */
  readonly released: number;
  /** Where they wait, as the names of lanes: to be woken after the commit. */
  readonly lanes: readonly string[];
  /** Where the next page begins. */
  readonly last: string;
}

/**
 * One step of a cancellation whose fact is committed, in a short transaction of its own: releases the submissions of covered
 * rows that nobody marked, or else cancels covered rows that wait. The SQL function says why never both, and when it waits.
 *
 * @param until only messages made until then: {@link sweepUntil}
 * @param after message id; `0` begins
 * @param limit rows looked at
 * @param wait everything of the last step was locked by others: wait for one row
 */
export async function cancelStep(
  sql: Sql,
  fact: CancellationFact,
  {
    until,
    after,
    limit,
    wait,
  }: { readonly until: Date; readonly after: string; readonly limit: number; readonly wait: boolean },
): Promise<CancelStep> {
  const [step] = await rowsOf<{
    found: number;
    ids: string[] | null;
    times: Date[] | null;
    released: number;
    lanes: string[] | null;
    last: string | null;
  }>(
    sql,
    `select p.found, p.message_ids as ids, p.message_created_at as times, p.released, p.lanes, p.last::text as last
     from sendledger.cancel_step($1, $2::bigint, $3::timestamptz, $4::bigint, $5::integer, $6::boolean) p`,
    [fact.tenantId, fact.id, until, after, limit, wait],
  );
  const times = step?.times ?? [];
  return {
    found: step?.found ?? 0,
    cancelled: (step?.ids ?? []).flatMap((id, i) => {
      const createdAt = times[i];
      return createdAt === undefined ? [] : [{ id, createdAt }];
    }),
    released: step?.released ?? 0,
    lanes: step?.lanes ?? [],
    last: step?.last ?? after,
  };
}

/**
 * A time after every message that a claim may have seen without seeing the fact: read once the fact is committed. What is made
 * later the claims themselves cancel. A second is added, because a clock may be set back by less.
 */
export async function sweepUntil(sql: Sql): Promise<Date> {
  const [row] = await rowsOf<{ until: Date }>(sql, `select clock_timestamp() + interval '1 s' as until`);
  return row?.until ?? new Date(Number.NaN);
}

/**
 * A cancellation found messages too late here that a provider still holds: it is asked to drop their requests, where every recipient
 * of one is cancelled. Answers the messages that are asked about.
 */
export async function askCancelHeld(sql: Sql, fact: CancellationFact): Promise<readonly string[]> {
  const [row] = await rowsOf<{ ids: string[] }>(
    sql,
    'select sendledger.ask_cancel_held($1, $2::bigint)::text[] as ids',
    [fact.tenantId, fact.id],
  );
  return row?.ids ?? [];
}
