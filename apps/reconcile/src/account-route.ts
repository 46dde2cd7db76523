import { rowsOf, type Sql } from '@sendledger/core/ledger';

/** The route that stands for an account where a receipt names no message yet. */
export interface AccountRoute {
  readonly id: string;
  /** IANA zone of the provider's clock strings. */
  readonly zone: string;
}

/** The account's first live route; of an account whose routes are all retired the first, since receipts come late. */
export async function routeOfAccount(sql: Sql, provider: string, account: string): Promise<AccountRoute | null> {
  const [route] = await rowsOf<AccountRoute>(
    sql,
    `select r.id, r.provider_zone as zone from sendledger.route r where r.provider = $1 and r.account = $2
     order by r.retired_at is not null, r.id limit 1`,
    [provider, account],
  );
  return route ?? null;
}
