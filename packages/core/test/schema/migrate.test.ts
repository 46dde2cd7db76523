import { createDatabase, dropDatabase, type EmbeddedPostgres, startPostgres, urlFor } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import { assertReady, rowsOf } from '../../src/ledger/index.ts';
import { MIGRATION_NAMES, migrate } from '../../src/schema/index.ts';

/** A cluster of its own: roles belong to the cluster, and only an empty one has none of ours. */
async function onOwnServer(
  work: (server: EmbeddedPostgres) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<void> {
  const server = await startPostgres({ only: 'embedded', settings });
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

async function withPool<T>(url: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined);
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

const migrations = (url: string) =>
  withPool(url, async (pool) =>
    (await rowsOf<{ name: string }>(pool, 'select name from sendledger.mikro_orm_migrations order by id')).map(
      (r) => r.name,
    ),
  );

/** What a migrated database can do at least: take a message. */
const enqueues = (url: string) =>
  withPool(url, async (pool) => {
    await pool.query(`insert into sendledger.route (name, provider, account, channel) values ('r', 'p', 'a', 'sms');
      insert into sendledger.lane (route_id, message_class, submit_within, receipt_within) select id, 'transactional', '1 h', '1 d' from sendledger.route`);
    return rowsOf(
      pool,
      `select answer from sendledger.enqueue('[{"tenant_id":"t","channel":"sms","message_class":"transactional","recipient":"919999999999",
         "event_type":"e","event_id":"1","body":"b","encoding":"GSM7","segments":1}]')`,
    );
  });

describe('many migrators', () => {
  test('ten at once on one empty database: one applies, nine find nothing to do', async ({ database }) => {
    const name = `${database.name}_ten`;
    await createDatabase(database.url, name);
    const url = urlFor(database.url, { database: name });
    try {
      const results = await Promise.all(Array.from({ length: 10 }, () => migrate(url, 'test')));
      expect(results.filter((r) => r.applied.length > 0)).toEqual([{ applied: [...MIGRATION_NAMES] }]);
      expect(await migrations(url)).toEqual([...MIGRATION_NAMES]);
      expect(
        await withPool(url, (pool) =>
          rowsOf(pool, 'select environment, epoch_no, status from sendledger.dataset_epoch'),
        ),
      ).toEqual([{ environment: 'test', epoch_no: 1, status: 'ok' }]);
      expect(await enqueues(url)).toEqual([{ answer: 'created' }]);
    } finally {
      await dropDatabase(database.url, name);
    }
  });

  test('four databases of one cluster at once, none of our roles there before: all succeed', () =>
    onOwnServer(async ({ url }) => {
      const names = ['one', 'two', 'three', 'four'];
      for (const name of names) await createDatabase(url, name);
      const urls = names.map((database) => urlFor(url, { database }));
      const results = await Promise.all(urls.map((each) => migrate(each, 'test')));
      for (const result of results) expect(result.applied).toEqual([...MIGRATION_NAMES]);
      for (const each of urls) expect(await enqueues(each)).toEqual([{ answer: 'created' }]);
    }));

  test('again, on a migrated database: nothing, and the environment stays what it was', async ({ freshDatabase }) => {
    expect(await migrate(freshDatabase.url, 'production')).toEqual({ applied: [] });
    expect(await rowsOf(freshDatabase.pool, 'select environment from sendledger.dataset_epoch')).toEqual([
      { environment: 'test' },
    ]);
  });
});

describe('a migrator that is no superuser', () => {
  for (const grant of ['grant create on database app to migrator', 'alter database app owner to migrator'])
    test(`with CREATEROLE and after: ${grant}`, () =>
      onOwnServer(async ({ url }) => {
        await createDatabase(url, 'app');
        await withPool(url, async (pool) => {
          await pool.query(`create role migrator login createrole password 'secret'`);
          await pool.query(grant);
        });
        const own = new URL(urlFor(url, { database: 'app' }));
        own.username = 'migrator';
        own.password = 'secret';
        expect(await migrate(own.href, 'test')).toEqual({ applied: [...MIGRATION_NAMES] });
        expect(await migrate(own.href, 'test')).toEqual({ applied: [] });
        const superuser = urlFor(url, { database: 'app' });
        expect(await enqueues(superuser)).toEqual([{ answer: 'created' }]);
        await withPool(superuser, async (pool) => {
          // The guards do not lean on the migrator: what it made belongs to the owner role.
          expect(
            await rowsOf(
              pool,
              `select distinct relowner::regrole::text as owner from pg_class
               where relnamespace = 'sendledger'::regnamespace and relkind in ('r', 'p') and relname not like 'mikro%'`,
            ),
          ).toEqual([{ owner: 'sendledger_owner' }]);
          // Months are made later by a definer function: the owner must be able to create in the schema.
          await pool.query(`select sendledger.create_month('2031-01-01')`);
          expect(
            await rowsOf(
              pool,
              `select has_function_privilege('sendledger_producer', 'sendledger.enqueue(json)', 'execute') as producer,
                 has_table_privilege('sendledger_claim', 'sendledger.outbound_message', 'select') as claim,
                 has_table_privilege('sendledger_claim', 'sendledger.outbound_message', 'delete') as deletes`,
            ),
          ).toEqual([{ producer: true, claim: true, deletes: false }]);
        });
      }));
});

describe('what is refused', () => {
  test('a database that is not UTF8', async ({ database }) => {
    const name = `${database.name}_latin`;
    await database.pool.query(
      `create database ${name} encoding 'LATIN1' locale_provider libc locale 'C' template template0`,
    );
    try {
      await expect(migrate(urlFor(database.url, { database: name }), 'test')).rejects.toMatchObject({
        code: 'SENDLEDGER_DATABASE_ENCODING',
        message: expect.stringContaining('LATIN1'),
      });
    } finally {
      await dropDatabase(database.url, name);
    }
  });

  test('a database that does not answer', async () => {
    await expect(migrate('postgres://nobody@127.0.0.1:1/nothing', 'test')).rejects.toMatchObject({
      code: 'SENDLEDGER_DATABASE_UNREACHABLE',
    });
  });
});

describe('the start', () => {
  /** Answers the question for the server's facts, and nothing else. */
  const server = (facts: Record<string, unknown>) => ({
    query: async (text: string) => ({
      rows: text.includes('server_version_num')
        ? [{ version: '18.4', number: '180004', encoding: 'UTF8', fsync: true, full_page_writes: true, ...facts }]
        : [],
      rowCount: 1,
    }),
  });

  test('a server that is too old is refused by its number', async () => {
    await expect(assertReady(server({ version: '14.12', number: '140012' }))).rejects.toMatchObject({
      code: 'SENDLEDGER_DATABASE_TOO_OLD',
      message: expect.stringContaining('14.12'),
    });
    await expect(assertReady(server({ version: '9.6.24', number: '90624' }))).rejects.toMatchObject({
      code: 'SENDLEDGER_DATABASE_TOO_OLD',
    });
  });

  test('a server that would lose what it confirmed is refused', async () => {
    await expect(assertReady(server({ fsync: false }))).rejects.toMatchObject({ code: 'SENDLEDGER_DATABASE_UNSAFE' });
    await expect(assertReady(server({ full_page_writes: false }))).rejects.toMatchObject({
      code: 'SENDLEDGER_DATABASE_UNSAFE',
    });
  });

  test('a real server with fsync = off is refused, migrated or not', () =>
    onOwnServer(
      async ({ url }) => {
        await migrate(url, 'test');
        await withPool(url, async (pool) => {
          await expect(assertReady(pool)).rejects.toMatchObject({
            code: 'SENDLEDGER_DATABASE_UNSAFE',
            message: expect.stringContaining('fsync is off'),
          });
        });
      },
      { fsync: 'off' },
    ));

  test('a database without our schema, and one that lacks the last migration, are refused by name', async ({
    freshDatabase,
  }) => {
    await assertReady(freshDatabase.pool);
    const last = MIGRATION_NAMES.at(-1);
    await freshDatabase.pool.query('delete from sendledger.mikro_orm_migrations where name = $1', [last]);
    await expect(assertReady(freshDatabase.pool)).rejects.toMatchObject({
      code: 'SENDLEDGER_MIGRATION_MISSING',
      message: expect.stringContaining(`Missing: ${last}.`),
    });
    const name = `${freshDatabase.name}_empty`;
    await createDatabase(freshDatabase.url, name);
    try {
      await withPool(urlFor(freshDatabase.url, { database: name }), async (pool) => {
        await expect(assertReady(pool)).rejects.toMatchObject({ code: 'SENDLEDGER_MIGRATION_MISSING' });
      });
    } finally {
      await dropDatabase(freshDatabase.url, name);
    }
  });

  for (const role of ['claim', 'submit', 'reconcile', 'backfill', 'producer', 'ops', 'cli', 'import'])
    test(`every role can check it: ${role}`, async ({ database }) => {
      await withPool(database.urlFor(`sendledger_${role}`), (pool) => assertReady(pool));
    });
});
