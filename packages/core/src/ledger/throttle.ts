import type { Sql } from './sql.ts';

/**
 * The provider said that we are too fast: no mark of this route before then. Never shortened: of two answers the longer pause
 * counts. It writes the route's row, which a mark locks.
 */
export async function throttleRoute(sql: Sql, routeId: string, forMs: number): Promise<void> {
  await sql.query(
    `update sendledger.route r
     set throttled_until = greatest(r.throttled_until, clock_timestamp() + $2::double precision * interval '1 ms'), updated_at = now()
     where r.id = $1`,
    [routeId, forMs],
  );
}
