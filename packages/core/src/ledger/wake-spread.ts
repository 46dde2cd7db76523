import type pg from 'pg';
import { countOf, rowsOf, type Sql } from './sql.ts';
import { durably } from './transaction.ts';

/** Reports a second that a wake-up makes due at most: new unknowns are looked for between them, and not after them all. */
const A_SECOND = 20;
const WOKEN_AT_ONCE = 1_000;

export interface WokenPolls {
  /** Polls that were moved. */
  readonly woken: number;
  /** When the last of the awaited polls is due at the latest, ms from the call. */
  readonly spanMs: number;
}

const OURS = `s.requested_at <= $2
  and s.route_id in (select r.id from sendledger.route r where r.provider || '/' || r.account = any ($1::text[]))`;

/**
 * Receipts of these accounts may have been lost: every report that is still awaited is due soon, ambiguous ones at once and the
 * others spread over a span that grows with their number, since all at once they would stand before every new unknown for hours.
 * No poll becomes later than it was, and those that are due within the span anyway stay: called again and again, it does not hasten
 * what it spread before. In batches, each on disk by itself.
 *
 * @param before only what was requested until then
 */
export async function wakeSpread(pool: pg.Pool, accounts: readonly string[], before: Date): Promise<WokenPolls> {
  const { awaited, at } = await durably(pool, (sql) => countAwaited(sql, accounts, before));
  const spanMs = Math.round((awaited * 1_000) / A_SECOND);
  const until = new Date(at.getTime() + spanMs);
  let woken = 0;
  // Every batch leaves fewer to move, and what is put off meanwhile must not keep it here for ever.
  const most = Math.ceil(awaited / WOKEN_AT_ONCE) + 2;
  for (const move of [wakeAmbiguous, spreadAccepted])
    for (let batch = 0; batch < most; batch++) {
      const some = await durably(pool, (sql) => move(sql, accounts, before, until));
      woken += some;
      if (some < WOKEN_AT_ONCE) break;
    }
  return { woken, spanMs };
}

async function countAwaited(
  sql: Sql,
  accounts: readonly string[],
  before: Date,
): Promise<{ readonly awaited: number; readonly at: Date }> {
  const [row] = await rowsOf<{ awaited: number; at: Date }>(
    sql,
    `select count(*)::integer as awaited, now() as at from sendledger.submission s where s.poll_at > now() and ${OURS}`,
    [accounts, before],
  );
  return row ?? { awaited: 0, at: new Date() };
}

/** Nobody knows whether they were sent: there are few of them, and they wait for nothing else. */
function wakeAmbiguous(sql: Sql, accounts: readonly string[], before: Date): Promise<number> {
  return countOf(
    sql,
    `with awaited as materialized (
       select s.id, s.created_at from sendledger.submission s
       where s.poll_at > now() and s.state::text = 'ambiguous' and ${OURS}
       order by s.poll_at limit $3 for update of s skip locked
     )
     update sendledger.submission s set poll_at = now() ${IN_AWAITED} and s.state::text = 'ambiguous'`,
    [accounts, before, WOKEN_AT_ONCE],
  );
}

/** The latest first: those that were moved lie before the rest, and are not read again by the next batch. */
function spreadAccepted(sql: Sql, accounts: readonly string[], before: Date, until: Date): Promise<number> {
  return countOf(
    sql,
    `with awaited as materialized (
       select s.id, s.created_at from sendledger.submission s
       where s.poll_at > greatest(now(), $4::timestamptz) and ${OURS}
       order by s.poll_at desc limit $3 for update of s skip locked
     )
     update sendledger.submission s
     set poll_at = now() + random() * greatest($4::timestamptz - now(), interval '0') ${IN_AWAITED}`,
    [accounts, before, WOKEN_AT_ONCE, until],
  );
}

const IN_AWAITED = `where s.id = any (array(select a.id from awaited a))
       and s.created_at >= (select min(a.created_at) from awaited a) and s.created_at <= (select max(a.created_at) from awaited a)
       and s.poll_at > now()`;
