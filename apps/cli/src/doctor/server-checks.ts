import { SendledgerError } from '@sendledger/core';
import { migrationState, rowsOf, type Sql } from '@sendledger/core/ledger';
import { readServerFacts, type ServerFacts } from '@sendledger/core/schema';
import { databaseFailure } from '../failure.ts';
import { type Check, ok, problem, warning } from './check.ts';

const OLDEST_SERVER = 150_000;

/** Whether there is a server; without one there is nothing else to check. */
export async function reach(sql: Sql): Promise<{ readonly check: Check; readonly facts: ServerFacts | null }> {
  try {
    const facts = await readServerFacts(sql as Parameters<typeof readServerFacts>[0]);
    return { check: ok('database', `reachable, PostgreSQL ${facts.version}`), facts };
  } catch (error) {
    const known = databaseFailure(error);
    const remedy = known instanceof SendledgerError ? known.remedy : 'Check DATABASE_URL and the role in it.';
    return { check: problem('database', `it does not answer: ${reasonOf(error)}`, remedy), facts: null };
  }
}

/** Facts of the cluster on which every promise stands. */
export function serverChecks(facts: ServerFacts): Check[] {
  const keeps = [facts.fsync ? '' : 'fsync is off', facts.fullPageWrites ? '' : 'full_page_writes is off'].filter(
    Boolean,
  );
  return [
    facts.versionNumber >= OLDEST_SERVER
      ? ok('version', `${facts.version} is 15 or newer`)
      : problem('version', `${facts.version} is older than 15`, 'Use PostgreSQL 15 or newer.'),
    facts.encoding === 'UTF8'
      ? ok('encoding', 'UTF8')
      : problem('encoding', `${facts.encoding}, not UTF8`, 'Create a database with ENCODING UTF8 and migrate that.'),
    keeps.length === 0
      ? ok('durability', 'fsync and full_page_writes are on')
      : problem(
          'durability',
          `${keeps.join(', ')}: the server may lose what it has confirmed`,
          'Run Postgres with fsync = on and full_page_writes = on.',
        ),
  ];
}

export async function synchronousCommit(sql: Sql): Promise<Check> {
  const [row] = await rowsOf<{ value: string }>(sql, `select current_setting('synchronous_commit') as value`);
  const value = row?.value ?? 'unknown';
  return value === 'on' || value === 'remote_apply'
    ? ok('commit', `synchronous_commit is ${value}`)
    : warning(
        'commit',
        `synchronous_commit is ${value} for this role; claims, marks and outcomes raise it to on by themselves`,
        "An application's own enqueue follows its role: alter role … set synchronous_commit = on.",
      );
}

/** Under whom the commands run, and whether that is enough and not too much. */
export async function sessionRole(sql: Sql): Promise<Check> {
  const [row] = await rowsOf<{ role: string; superuser: boolean }>(
    sql,
    `select current_user as role, (select r.rolsuper from pg_roles r where r.rolname = current_user) as superuser`,
  );
  const role = row?.role ?? 'unknown';
  return row?.superuser === true
    ? warning(
        'role',
        `this session is ${role}, a superuser, whom no grant holds back`,
        'Migrate as the owner of the database, and run the commands as sendledger_cli.',
      )
    : ok('role', `this session is ${role}`);
}

/** The check, and whether the schema is whole enough to look further. */
export async function migrationCheck(sql: Sql): Promise<{ readonly check: Check; readonly usable: boolean }> {
  const state = await migrationState(sql);
  if (state === null)
    return {
      check: problem(
        'migrations',
        'there is no schema sendledger that this role can read',
        'Run: npm run sendledger -- migrate',
      ),
      usable: false,
    };
  if (state.missing.length > 0)
    return {
      check: problem('migrations', `missing: ${state.missing.join(', ')}`, 'Run: npm run sendledger -- migrate'),
      usable: false,
    };
  if (state.unknown.length > 0)
    return {
      check: warning(
        'migrations',
        `the database was migrated by a newer build: ${state.unknown.join(', ')}`,
        'Use the build that migrated it.',
      ),
      usable: true,
    };
  return { check: ok('migrations', 'current'), usable: true };
}

function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return (message || code || 'no answer').replace(/\s+/g, ' ').trim();
}
