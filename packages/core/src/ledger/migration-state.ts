import { MIGRATION_NAMES } from '../schema/migration-names.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface MigrationState {
  /** Known to this build and not run. */
  readonly missing: readonly string[];
  /** Run by a newer build. */
  readonly unknown: readonly string[];
}

/** What the database has run against what this build was made for. Null where there is no schema, or no right to read it. */
export async function migrationState(sql: Sql): Promise<MigrationState | null> {
  const [there] = await rowsOf<{ readable: boolean | null }>(
    sql,
    `select case when to_regclass('sendledger.mikro_orm_migrations') is not null
       then has_table_privilege('sendledger.mikro_orm_migrations', 'select') end as readable`,
  ).catch((error: unknown) => {
    // to_regclass raises where the role may not look into the schema.
    if ((error as { code?: unknown }).code === '42501') return [{ readable: null }];
    throw error;
  });
  if (there?.readable !== true) return null;
  const rows = await rowsOf<{ name: string }>(sql, 'select name from sendledger.mikro_orm_migrations');
  const applied = new Set(rows.map((row) => row.name));
  return {
    missing: MIGRATION_NAMES.filter((name) => !applied.has(name)),
    unknown: [...applied].filter((name) => !MIGRATION_NAMES.includes(name)),
  };
}
