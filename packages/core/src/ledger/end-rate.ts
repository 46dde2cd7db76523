import { countOf, type Sql } from './sql.ts';

/**
 * Ends the price that is valid at `at`, so that another may begin there. A price never changes its amount: what was quoted
 * under it must stay explicable. Answers whether there was one.
 */
export async function endRate(sql: Sql, routeId: string, priceKey: string, at: Date): Promise<boolean> {
  const ended = await countOf(
    sql,
    `update sendledger.rate_card set valid = tstzrange(lower(valid), $3)
     where route_id = $1 and price_key = $2 and valid @> $3::timestamptz and lower(valid) is distinct from $3::timestamptz`,
    [routeId, priceKey, at],
  );
  return ended > 0;
}
