import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import { SendledgerError } from '../domain/errors.ts';
import { connectionError } from './connection-error.ts';
import { ENTITIES } from './entities.ts';
import { migrationsList } from './migrations.ts';
import { readServerFacts } from './server-facts.ts';

/** Any 64-bit number, the same in every release: the lock is what lets ten processes start at once. */
const MIGRATION_LOCK = '7310579631001';

export interface MigrateResult {
  /** Names applied by this call; empty when another process was first, or there was nothing to do. */
  readonly applied: readonly string[];
}

/**
 * Brings the database to the version of this build. Safe to call from many processes at once: one applies, the others
 * wait and find nothing to do.
 *
 * @param environment name of this environment (`production`, `staging`): a copy started under another name does not send.
 * @throws SendledgerError SENDLEDGER_DATABASE_UNREACHABLE, SENDLEDGER_DATABASE_REFUSED, SENDLEDGER_DATABASE_TOO_OLD, SENDLEDGER_DATABASE_ENCODING
 */
export async function migrate(databaseUrl: string, environment: string): Promise<MigrateResult> {
  const lock = new pg.Client({ connectionString: databaseUrl, application_name: 'sendledger migrate' });
  try {
    await lock.connect();
  } catch (cause) {
    throw connectionError(cause);
  }
  try {
    const facts = await readServerFacts(lock);
    if (facts.versionNumber < 150_000)
      throw new SendledgerError('SENDLEDGER_DATABASE_TOO_OLD', `It is ${facts.version}.`);
    if (facts.encoding !== 'UTF8')
      throw new SendledgerError('SENDLEDGER_DATABASE_ENCODING', `Its encoding is ${facts.encoding}.`);
    await lock.query('select pg_advisory_lock($1::bigint)', [MIGRATION_LOCK]);
    const applied = await runMigrations(databaseUrl);
    await lock.query(
      `insert into sendledger.dataset_epoch (environment, system_identifier, timeline)
       values ($1, $2, $3) on conflict do nothing`,
      [environment, facts.systemIdentifier, facts.timeline],
    );
    return { applied };
  } finally {
    await lock.end();
  }
}

async function runMigrations(databaseUrl: string): Promise<string[]> {
  const orm = await MikroORM.init({
    clientUrl: databaseUrl,
    // The ORM takes a URL apart and drops its `options`; handed to the driver whole, a role in it is kept.
    driverOptions: { connectionString: databaseUrl },
    entities: [...ENTITIES],
    extensions: [Migrator],
    schema: 'sendledger',
    schemaGenerator: { ignoreTriggers: true },
    migrations: {
      migrationsList: migrationsList(),
      snapshot: false,
      allOrNothing: true,
      tableName: 'mikro_orm_migrations',
      schema: 'sendledger',
    },
    logger: () => undefined,
    debug: false,
  });
  try {
    return (await orm.migrator.up()).map((m) => m.name);
  } finally {
    await orm.close(true);
  }
}
