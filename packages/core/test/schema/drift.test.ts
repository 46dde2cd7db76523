import { readFileSync, writeFileSync } from 'node:fs';
import { MetadataStorage } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { rowsOf } from '../../src/ledger/index.ts';
import { dumpSchema } from '../../src/schema/dump-schema.ts';
import { ENTITIES } from '../../src/schema/entities.ts';
import { GUARDS_FILE } from '../../src/schema/generate-guards.ts';
import { guardSql } from '../../src/schema/transition-trigger.ts';

const SCHEMA_FILE = new URL('../../src/schema/schema.sql', import.meta.url);

describe('what is written down about the schema is what the schema is', () => {
  test('schema.sql is the dump of a migrated database', async ({ freshDatabase: { pool } }) => {
    const client = await pool.connect();
    try {
      const dump = await dumpSchema(client);
      // Renewed after a change of a migration with SENDLEDGER_UPDATE_SCHEMA=1.
      if (process.env.SENDLEDGER_UPDATE_SCHEMA === '1') writeFileSync(SCHEMA_FILE, dump);
      expect(dump).toBe(readFileSync(SCHEMA_FILE, 'utf8'));
    } finally {
      client.release();
    }
  });

  test('the dump does not change with the calendar', async ({ freshDatabase: { pool } }) => {
    const client = await pool.connect();
    try {
      const before = await dumpSchema(client);
      await client.query(`select sendledger.create_month('2031-05-01')`);
      expect(await dumpSchema(client)).toBe(before);
    } finally {
      client.release();
    }
  });

  const changes = [
    'alter table sendledger.outbound_message add column extra text',
    'alter table sendledger.route alter column max_batch set default 7',
    'alter table sendledger.outbound_message alter column event_id drop not null',
    'drop index sendledger.outbound_message_unresolved',
    'drop trigger guard_update on sendledger.outbound_message',
    'drop trigger guard_submission on sendledger.outbound_message_default',
    'alter table sendledger.submission disable trigger guard_delete',
    'alter table sendledger.submission drop constraint otp_alone',
    'grant truncate on sendledger.outbound_message to sendledger_submit',
    'grant update (cost) on sendledger.outbound_message to sendledger_claim',
    `create or replace function sendledger.key_part(p_value text) returns text language sql as 'select p_value'`,
    'alter function sendledger.enqueue(json) reset search_path',
    'alter function sendledger.enqueue(json) owner to postgres',
    `alter type sendledger.message_state add value 'lost'`,
    'alter domain sendledger.foreign_id drop constraint foreign_id_check',
    'alter sequence sendledger.message_id_seq cache 1',
  ];
  for (const change of changes)
    test(`the dump shows: ${change}`, async ({ freshDatabase: { pool } }) => {
      const client = await pool.connect();
      try {
        const before = await dumpSchema(client);
        // The superuser is not called postgres everywhere.
        await client.query(change.replace('to postgres', 'to current_user'));
        expect(await dumpSchema(client)).not.toBe(before);
      } finally {
        client.release();
      }
    });

  test('0005_transitions.sql is what the state table generates', () => {
    expect(readFileSync(GUARDS_FILE, 'utf8')).toBe(guardSql());
  });

  test('the state enums of the database are the lists of the domain, in order', async ({ database: { pool } }) => {
    const domain = await import('../../src/domain/state.ts');
    const [row] = await rowsOf<Record<string, string[]>>(
      pool,
      `select enum_range(null::sendledger.message_state)::text[] as states, enum_range(null::sendledger.submission_state)::text[] as submissions,
         enum_range(null::sendledger.message_channel)::text[] as channels, enum_range(null::sendledger.message_class)::text[] as classes`,
    );
    expect(row).toEqual({
      states: [...domain.MESSAGE_STATES],
      submissions: [...domain.SUBMISSION_STATES],
      channels: [...domain.MESSAGE_CHANNELS],
      classes: [...domain.MESSAGE_CLASSES],
    });
  });
});

describe('the entities', () => {
  test('have the columns of their tables: names, nullability and keys', async ({ database: { url, pool } }) => {
    const orm = await MikroORM.init({
      clientUrl: url,
      entities: [...ENTITIES],
      schema: 'sendledger',
      logger: () => undefined,
      debug: false,
    });
    try {
      const metadata: MetadataStorage = orm.getMetadata();
      expect(metadata).toBeInstanceOf(MetadataStorage);
      const mapped = [...metadata.getAll().values()].flatMap((meta) =>
        meta.props.flatMap((prop) =>
          prop.fieldNames.map((name) => ({
            column: `${meta.tableName}.${name}`,
            nullable: prop.nullable === true,
            key: prop.primary === true,
          })),
        ),
      );
      const stored = await rowsOf<{ column: string; nullable: boolean; key: boolean }>(
        pool,
        `select c.relname || '.' || a.attname as column, not a.attnotnull as nullable,
           exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey)) as key
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         where c.relnamespace = 'sendledger'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
           and c.relname not like 'mikro\\_orm\\_migrations%'`,
      );
      const sorted = <T extends { column: string }>(rows: readonly T[]) =>
        rows.toSorted((a, b) => (a.column < b.column ? -1 : 1));
      expect(sorted(mapped)).toEqual(sorted(stored));
    } finally {
      await orm.close(true);
    }
  });
});
