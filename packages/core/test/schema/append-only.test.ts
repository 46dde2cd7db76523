import { randomBytes } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { rowsOf } from '../../src/ledger/index.ts';
import { scene } from '../ledger/scene.ts';
import { type Columns, importMessage, importSubmission, insertRow, leafOf, refusalOf } from './rows.ts';

const receipt = (columns: Columns = {}): Columns => ({
  dedupe_hash: randomBytes(32),
  route_id: 1,
  source: 'poll',
  provider_message_id: '1',
  status_word: 'DELIVERED',
  status: 'delivered',
  ...columns,
});

describe('a receipt is evidence', () => {
  const changes: Readonly<Record<string, string>> = {
    id: 'id + 1',
    received_at: 'now()',
    received_month: "received_month + interval '1 month'",
    dedupe_hash: "'b'",
    route_id: '2',
    source: "'push'",
    provider_txn_id: "'9'",
    provider_message_id: "'9'",
    recipient: "'9'",
    sender_id: "'9'",
    status_word: "'FAILED'",
    cause: "'other'",
    provider_submitted_at: 'now()',
    provider_delivered_at: 'now()',
    evidence: `'{"a":1}'`,
    message_id: '2',
    applied_at: 'now()',
    conflict: 'false',
  };
  for (const [column, value] of Object.entries(changes))
    test(`${column} does not change`, async ({ database: { pool } }) => {
      const { dedupe_hash } = await insertRow(
        pool,
        'delivery_receipt',
        receipt({
          message_id: 1,
          message_created_at: new Date(0),
          applied_at: new Date(0),
          received_at: new Date(0),
          conflict: true,
        }),
      );
      const set = column === 'id' ? 'id = default' : `${column} = ${value}`;
      for (const table of ['sendledger.delivery_receipt', leafOf('delivery_receipt', new Date())])
        expect(
          await refusalOf(pool, `update ${table} set ${set} where dedupe_hash = $1`, [dedupe_hash]),
          table,
        ).toMatchObject({
          code: '23514',
          constraint: 'guard: guard_update',
        });
    });

  test('it is applied once, and is not deleted', async ({ database: { pool } }) => {
    const { dedupe_hash } = await insertRow(pool, 'delivery_receipt', receipt());
    expect(
      await refusalOf(
        pool,
        `update sendledger.delivery_receipt set applied_at = now(), message_id = 1, message_created_at = now(), conflict = true where dedupe_hash = $1`,
        [dedupe_hash],
      ),
    ).toBeUndefined();
    for (const table of ['sendledger.delivery_receipt', leafOf('delivery_receipt', new Date())])
      expect(await refusalOf(pool, `delete from ${table} where dedupe_hash = $1`, [dedupe_hash])).toMatchObject({
        constraint: 'guard: guard_delete',
      });
  });
});

describe('facts that neither change nor go', () => {
  const facts: Readonly<Record<string, { row: Columns; set: string }>> = {
    provider_message: {
      row: { account: 'default', provider_message_id: '1', message_id: 1, message_created_at: new Date() },
      set: 'message_id = 2',
    },
    cancellation: {
      row: { tenant_id: 'shop', kind: 'message', message_id: 1, requested_by: 'me', reason: 'why' },
      set: "reason = 'another'",
    },
  };
  for (const [table, { row, set }] of Object.entries(facts))
    test(table, async ({ freshDatabase: { pool } }) => {
      await insertRow(pool, table, row);
      expect(await refusalOf(pool, `update sendledger.${table} set ${set}`)).toMatchObject({
        constraint: 'guard: guard_update',
      });
      expect(await refusalOf(pool, `delete from sendledger.${table}`)).toMatchObject({
        constraint: 'guard: guard_delete',
      });
    });

  test('a provider id has one owner in an era', async ({ freshDatabase: { pool } }) => {
    const owner = { account: 'default', provider_message_id: '1', message_id: 1, message_created_at: new Date() };
    await insertRow(pool, 'provider_message', owner);
    await expect(insertRow(pool, 'provider_message', { ...owner, message_id: 2 })).rejects.toMatchObject({
      code: '23505',
    });
    await insertRow(pool, 'provider_message', { ...owner, message_id: 2, era: 1 });
  });
});

describe('TRUNCATE', () => {
  const LEDGER = [
    'outbound_message',
    'submission',
    'delivery_receipt',
    'message_key',
    'provider_message',
    'cancellation',
  ];

  async function tables(pool: pg.Pool): Promise<string[]> {
    const rows = await rowsOf<{ name: string }>(
      pool,
      `select c.oid::regclass::text as name from pg_class c
       left join pg_inherits i on i.inhrelid = c.oid
       where c.relnamespace = 'sendledger'::regnamespace and c.relkind in ('r', 'p')
         and (c.relname = any ($1) or i.inhparent in (select oid from pg_class p
           where p.relnamespace = 'sendledger'::regnamespace and p.relname = any ($1)))`,
      [LEDGER],
    );
    return rows.map((row) => row.name);
  }

  test('is refused by a trigger on each table of the ledger and each of its partitions', async ({
    freshDatabase: { pool },
  }) => {
    const names = await tables(pool);
    expect(names.length).toBeGreaterThan(20);
    for (const name of names)
      expect(await refusalOf(pool, `truncate ${name} cascade`), name).toMatchObject({
        code: '23514',
        constraint: 'guard: guard_truncate',
      });
  });

  test('is granted to no role', async ({ freshDatabase: { pool } }) => {
    expect(
      await rowsOf(
        pool,
        `select c.oid::regclass::text as name, r.rolname::text as role
         from pg_class c cross join pg_roles r
         where c.relnamespace = 'sendledger'::regnamespace and c.relkind in ('r', 'p') and r.rolname like 'sendledger\\_%'
           and r.rolname <> 'sendledger_owner' and has_table_privilege(r.oid, c.oid, 'truncate')`,
      ),
    ).toEqual([]);
  });
});

describe('redaction', () => {
  test('empties final rows older than the given time and no other', async ({ freshDatabase: { pool } }) => {
    const { routeId } = await scene(pool);
    const submission = await importSubmission(pool, 'ambiguous', routeId);
    const states = [
      'pending',
      'claimed',
      'retry',
      'submitted',
      'unknown',
      'delivered',
      'failed',
      'rejected',
      'expired',
    ];
    for (const state of [...states, 'cancelled', 'superseded'] as never[])
      await importMessage(pool, state, routeId, submission, { template_params: { code: '1' } });
    const redact = async (before: string) =>
      (await rowsOf<{ n: number }>(pool, `select sendledger.redact_final(${before}, 100) as n`))[0]?.n;
    expect(await redact("now() - interval '1 hour'")).toBe(0);
    expect(await redact("now() + interval '1 minute'")).toBe(6);
    expect(await redact("now() + interval '1 minute'")).toBe(0);
    const rows = await rowsOf<{ state: string }>(
      pool,
      `select state from sendledger.outbound_message where body = '[redacted]' and template_params is null order by state`,
    );
    expect(rows.map((r) => r.state)).toEqual(['delivered', 'failed', 'rejected', 'expired', 'cancelled', 'superseded']);
    expect(
      await rowsOf(
        pool,
        `select count(*)::int as n from sendledger.outbound_message where body = 'Your order is ready' and template_params is not null`,
      ),
    ).toEqual([{ n: 5 }]);
  });

  test('takes no more than it is told to', async ({ freshDatabase: { pool } }) => {
    const { routeId } = await scene(pool);
    for (let i = 0; i < 3; i++) await importMessage(pool, 'failed', routeId, null);
    expect(await rowsOf(pool, `select sendledger.redact_final(now() + interval '1 minute', 2) as n`)).toEqual([
      { n: 2 },
    ]);
  });

  test('may be run by none of the roles that are granted nothing', async ({ freshDatabase: { pool } }) => {
    expect(
      await rowsOf(
        pool,
        `select has_function_privilege('sendledger_producer', 'sendledger.redact_final(timestamptz, integer)', 'execute') as producer,
           has_function_privilege('sendledger_submit', 'sendledger.redact_final(timestamptz, integer)', 'execute') as submit`,
      ),
    ).toEqual([{ producer: false, submit: false }]);
  });
});
