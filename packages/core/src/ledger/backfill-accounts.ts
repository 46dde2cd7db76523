import { rowsOf, type Sql } from './sql.ts';

/** An account of a provider, as a backfill reads it: two routes of one account share its report. */
export interface BackfillAccount {
  readonly provider: string;
  readonly account: string;
  /** The route that stands for it. */
  readonly routeId: string;
  readonly route: string;
  /** IANA zone of the provider's clock strings. */
  readonly zone: string;
}

/** Accounts of the routes in use, each once, by its first route. @param routeId only the account of this route, which then stands for it. */
export async function backfillAccounts(sql: Sql, routeId: string | null = null): Promise<BackfillAccount[]> {
  return rowsOf<BackfillAccount>(
    sql,
    `select distinct on (r.provider, r.account) r.provider, r.account, r.id as "routeId", r.name as route, r.provider_zone as zone
     from sendledger.route r where r.retired_at is null and ($1::bigint is null or r.id = $1)
     order by r.provider, r.account, r.id`,
    [routeId],
  );
}
