import { rowsOf, type Sql } from './sql.ts';

/**
 * Partitions that are not there, of this month and the `ahead` months after it, e.g. `submission_2026_04`. A row of such a
 * month falls into the default partition, which then blocks making it.
 */
export async function missingMonths(sql: Sql, ahead: number): Promise<string[]> {
  const rows = await rowsOf<{ leaf: string }>(
    sql,
    `select n.leaf
     from generate_series(0, $1::integer) i
     cross join unnest(array['outbound_message', 'submission', 'delivery_receipt']) p
     cross join lateral (
       select p || '_' || to_char((date_trunc('month', now() at time zone 'UTC') + make_interval(months => i))::date, 'YYYY_MM') as leaf
     ) n
     where to_regclass('sendledger.' || n.leaf) is null
     order by i, p`,
    [ahead],
  );
  return rows.map((row) => row.leaf);
}
