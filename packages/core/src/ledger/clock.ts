import { countOf, rowsOf, type Sql } from './sql.ts';

/** A difference that is not worth a write. */
const SAME_WITHIN_MS = 5_000;

/**
 * Learns the provider's clock from requests whose ids we knew and whose records have now been read: the middle of what these
 * pairs say, which moves what is known the further the more they are, so that one late record is not another zone. Written only
 * where it is new, moves, or is old: it is the route's row that a mark locks.
 */
export async function learnClock(sql: Sql, routeId: string, offsetsMs: readonly number[]): Promise<boolean> {
  if (offsetsMs.length === 0) return false;
  const sorted = offsetsMs.toSorted((a, b) => a - b);
  const middle = Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
  const written = await countOf(
    sql,
    `update sendledger.route r
     set clock_offset_ms = round(coalesce(r.clock_offset_ms + ($2::bigint - r.clock_offset_ms) * $3::numeric / ($3 + 5), $2))::bigint, clock_pairs = least(r.clock_pairs + $3::integer, 1000000), clock_seen_at = now(), updated_at = now()
     where r.id = $1 and (r.clock_offset_ms is null or abs(r.clock_offset_ms - $2::bigint) > ${SAME_WITHIN_MS} or r.clock_pairs < 10
       or r.clock_seen_at < now() - interval '1 minute')`,
    [routeId, middle, sorted.length],
  );
  return written === 1;
}

/** What is known of the provider's clock on a route. */
export async function routeClock(
  sql: Sql,
  routeId: string,
): Promise<{ readonly offsetMs: number | null; readonly pairs: number }> {
  const [row] = await rowsOf<{ offsetMs: number | null; pairs: number }>(
    sql,
    `select r.clock_offset_ms::double precision as "offsetMs", r.clock_pairs as pairs from sendledger.route r where r.id = $1`,
    [routeId],
  );
  return row ?? { offsetMs: null, pairs: 0 };
}
