import { SendledgerError } from '../domain/errors.ts';
import { connectionError } from '../schema/connection-error.ts';
import { MIGRATION_NAMES } from '../schema/migration-names.ts';
import { readServerFacts } from '../schema/server-facts.ts';
import { rowsOf, type Sql } from './sql.ts';

/**
 * What must hold before any work is done: a server that is new enough and keeps what it confirms, and exactly the migrations
 * this build was made for.
 *
 * @throws SendledgerError SENDLEDGER_DATABASE_TOO_OLD, SENDLEDGER_DATABASE_UNSAFE, SENDLEDGER_MIGRATION_MISSING,
 *   SENDLEDGER_DATABASE_UNREACHABLE, SENDLEDGER_DATABASE_REFUSED
 */
export async function assertReady(sql: Sql): Promise<void> {
  const facts = await readFacts(sql);
  if (facts.versionNumber < 150_000)
    throw new SendledgerError('SENDLEDGER_DATABASE_TOO_OLD', `It is ${facts.version}.`);
  if (!facts.fsync || !facts.fullPageWrites)
    throw new SendledgerError(
      'SENDLEDGER_DATABASE_UNSAFE',
      `fsync is ${facts.fsync ? 'on' : 'off'}, full_page_writes is ${facts.fullPageWrites ? 'on' : 'off'}.`,
    );
  const applied = await appliedMigrations(sql);
  const missing = MIGRATION_NAMES.filter((name) => !applied.has(name));
  if (missing.length > 0) throw new SendledgerError('SENDLEDGER_MIGRATION_MISSING', `Missing: ${missing.join(', ')}.`);
}

async function readFacts(sql: Sql) {
  try {
    return await readServerFacts(sql as Parameters<typeof readServerFacts>[0]);
  } catch (cause) {
    throw connectionError(cause);
  }
}

async function appliedMigrations(sql: Sql): Promise<Set<string>> {
  try {
    const rows = await rowsOf<{ name: string }>(sql, 'select name from sendledger.mikro_orm_migrations');
    return new Set(rows.map((row) => row.name));
  } catch {
    // No schema, no table, or no right to read it: in each case this database was not migrated for this role.
    return new Set();
  }
}
