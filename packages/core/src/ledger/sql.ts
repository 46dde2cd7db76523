/** The one thing a statement needs: something that runs SQL with `$n` parameters. A `pg` client or pool is one. */
export interface Sql {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>;
}

/** Runs a statement and names the shape of its rows. The shape stands beside the SQL, in the same file. */
export async function rowsOf<Row>(sql: Sql, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  const { rows } = await sql.query(text, [...values]);
  return rows as Row[];
}

export async function countOf(sql: Sql, text: string, values: readonly unknown[] = []): Promise<number> {
  return (await sql.query(text, [...values])).rowCount ?? 0;
}
