import type { RowRef } from './identity.ts';
import { rowKeys } from './identity.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';

/** A submission whose report is due to be read, or whose fate is due to be looked for. */
export interface DuePoll extends RowRef {
  readonly routeId: string;
  readonly provider: string;
  readonly account: string;
  /** IANA zone of the provider's clock strings. */
  readonly zone: string;
  /** `ambiguous`: nobody knows yet whether it was sent. */
  readonly state: 'accepted' | 'ambiguous';
  /** Null where there is none to ask by: accepted without an id, or not known to be accepted. */
  readonly providerTxnId: string | null;
  readonly size: number;
}

/**
 * Takes submissions whose report is due, and moves their next look on before anything is asked: a poller that dies costs one
 * interval. The pause doubles with each look, from `firstMs` to `longestMs`.
 */
export async function takeDuePolls(
  sql: Sql,
  limits: {
    readonly limit: number;
    readonly firstMs: number;
    readonly longestMs: number;
    /** `provider/account` this process can ask; what others serve is left to them. */
    readonly accounts: readonly string[];
    /** `by_id`: those that can be asked for by their transaction; `without_id`: those whose fate has to be searched for. */
    readonly kind?: 'by_id' | 'without_id';
  },
): Promise<DuePoll[]> {
  const rows = await rowsOf<{
    id: string;
    created_at: Date;
    route_id: string;
    provider: string;
    account: string;
    provider_txn_id: string | null;
    zone: string;
    state: DuePoll['state'];
    size: number;
  }>(
    sql,
    `with due as materialized (
       select s.id, s.created_at from sendledger.submission s
       where s.poll_at <= now()
         and s.route_id in (select r.id from sendledger.route r where r.provider || '/' || r.account = any ($4::text[]))
         and ($5::text is null or ($5 = 'by_id') = (s.provider_txn_id is not null))
       order by s.poll_at limit $1 for update of s skip locked
     ), taken as (
       update sendledger.submission s
       set polls = s.polls + 1, poll_at = now() + least($2 * power(2, least(s.polls, 20)), $3) * interval '1 ms'
       where s.id = any (array(select d.id from due d))
         and s.created_at >= (select min(d.created_at) from due d) and s.created_at <= (select max(d.created_at) from due d)
         and s.poll_at <= now()
       returning s.id, s.created_at, s.route_id, s.state::text as state, s.provider_txn_id, s.size
     )
     select t.id, t.created_at, t.route_id, t.state, r.provider, r.account, r.provider_zone as zone, t.provider_txn_id, t.size
     from taken t join sendledger.route r on r.id = t.route_id`,
    [limits.limit, limits.firstMs, limits.longestMs, limits.accounts, limits.kind ?? null],
  );
  return rows.map((row) => ({
    id: row.id,
    createdAt: row.created_at,
    routeId: row.route_id,
    provider: row.provider,
    account: row.account,
    zone: row.zone,
    state: row.state,
    providerTxnId: row.provider_txn_id,
    size: row.size,
  }));
}

/**
 * An update takes its locks in the order in which it finds the rows, which is another one after each change of an indexed column:
 * two that name the same rows would end one of them.
 */
const BY_ID = 'order by s.id for no key update';

/** Ends the polling of submissions that have no open row left. */
export async function endPolls(sql: Sql, submissions: readonly RowRef[]): Promise<void> {
  if (submissions.length === 0) return;
  await sql.query(
    `with over as materialized (
       select s.id from sendledger.submission s
       where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3 and coalesce(s.poll_at, 'infinity') < 'infinity'
         -- Not NOT EXISTS: a generic plan makes it an anti join that reads every open row there is.
         and s.id <> all (array(select m.submission_id from sendledger.outbound_message m
           where m.submission_id = any ($1::bigint[]) and m.state in ('claimed', 'submitted', 'unknown')))
       ${BY_ID}
     )
     update sendledger.submission s set poll_at = null
     where s.id = any (array(select o.id from over o)) and s.created_at >= $2 and s.created_at <= $3`,
    rowKeys(submissions),
  );
}

/** A hint says that there is news: the next look at these submissions is due at once, also where polling had ended. */
export async function wakePolls(sql: Sql, submissions: readonly RowRef[]): Promise<number> {
  if (submissions.length === 0) return 0;
  return countOf(
    sql,
    `with news as materialized (
       select s.id from sendledger.submission s
       where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3
         and s.state::text in ('accepted', 'ambiguous') and coalesce(s.poll_at, 'infinity') > now()
       ${BY_ID}
     )
     update sendledger.submission s set poll_at = now()
     where s.id = any (array(select n.id from news n)) and s.created_at >= $2 and s.created_at <= $3`,
    rowKeys(submissions),
  );
}
