import { randomBytes } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { rowsOf } from '../../src/ledger/index.ts';
import { scene } from '../ledger/scene.ts';
import { asRole, COST, type Columns, importSubmission, intent, leafOf, messageIn, QUOTE, refusalOf } from './rows.ts';

const FORGED: Readonly<Record<string, Columns>> = {
  state: { state: 'cancelled' },
  attempt_count: { attempt_count: 1 },
  conflict: { conflict: true },
  submission_id: { submission_id: '1', submission_created_at: new Date() },
  provider_txn_id: { provider_txn_id: '1' },
  provider_message_id: { provider_message_id: '1' },
  provider_campaign_id: { provider_campaign_id: '1' },
  provider_status_code: { provider_status_code: '200' },
  provider_cause: { provider_cause: 'success' },
  cost: COST,
  cost_source: { cost_source: 'imported' },
  quoted_cost: QUOTE,
  claimed_at: { claimed_at: new Date() },
  requested_at: { requested_at: new Date() },
  submitted_at: { submitted_at: new Date() },
  delivered_at: { delivered_at: new Date() },
  reconciled_at: { reconciled_at: new Date() },
  billed_after_close_at: { billed_after_close_at: new Date() },
  receipt_by: { receipt_by: new Date() },
  correlation_result: { correlation_result: 'matched' },
  correlation_window_ms: { correlation_window_ms: 1 },
};

/** Columns that are part of the intent, or filled by the guard's own constraints together with a column above. */
const INTENT = [
  ...['id', 'created_at', 'updated_at', 'tenant_id', 'business_key', 'attempt_key', 'event_type', 'event_id'],
  ...['event_version', 'campaign_id', 'replaces_id', 'replaces_created_at', 'channel', 'message_class', 'recipient'],
  ...[
    'country',
    'sender_id',
    'route_id',
    'provider',
    'body',
    'encoding',
    'segments',
    'template_id',
    'template_version',
  ],
  ...['template_params', 'dlt_entity_id', 'dlt_template_id', 'state_reason', 'on_proven_absent', 'scheduled_for'],
  ...['scheduled_tz', 'due_at', 'submit_by', 'submission_created_at', 'quoted_units', 'quoted_currency'],
  ...['billable_units', 'cost_currency', 'scheduled_offset_s', 'held_by', 'fallback_step', 'asked_again_at'],
];

function insert(sql: pg.Pool | pg.PoolClient, columns: Columns, table = 'sendledger.outbound_message') {
  const names = Object.keys(columns);
  return refusalOf(
    sql,
    `insert into ${table} (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
    Object.values(columns),
  );
}

const REFUSED = { code: '23514', constraint: 'guard: guard_insert' };

describe('an insert is an intent and has no past', () => {
  for (const [column, columns] of Object.entries(FORGED))
    test(`not with ${column}, through the parent or the leaf`, async ({ database: { pool } }) => {
      const { routeId } = await scene(pool);
      expect(await insert(pool, intent(routeId, columns))).toMatchObject(REFUSED);
      expect(await insert(pool, intent(routeId, columns), leafOf('outbound_message', new Date()))).toMatchObject(
        REFUSED,
      );
      expect(await insert(pool, intent(routeId))).toBeUndefined();
    });

  test('each column of the table is either tried here or part of the intent', async ({ database: { pool } }) => {
    const columns = await rowsOf<{ attname: string }>(
      pool,
      `select attname::text from pg_attribute where attrelid = 'sendledger.outbound_message'::regclass and attnum > 0 and not attisdropped`,
    );
    expect(columns.map((c) => c.attname).sort()).toEqual([...Object.keys(FORGED), ...INTENT].sort());
  });
});

describe('who may write a row with a past', () => {
  /** Roles belong to the cluster: a name of its own per run, dropped again. */
  async function withMember(pool: pg.Pool, work: (role: string) => Promise<void>): Promise<void> {
    const role = `sendledger_test_${randomBytes(6).toString('hex')}`;
    await pool.query(`create role ${role} in role sendledger_import`);
    try {
      await work(role);
    } finally {
      await pool.query(`drop role ${role}`);
    }
  }

  test('not a member of the import role: membership gives its grants, and not its name', async ({
    database: { pool },
  }) => {
    const { routeId } = await scene(pool);
    const submission = await importSubmission(pool, 'accepted', routeId);
    await withMember(pool, async (role) => {
      await asRole(pool, role, async (sql) => {
        expect(await insert(sql, messageIn('delivered', routeId, submission))).toMatchObject(REFUSED);
        // The same role may insert an intent: it is the guard that refuses, and not a missing grant.
        expect(await insert(sql, intent(routeId))).toBeUndefined();
      });
    });
  });

  test('not the owner of the tables, and not a superuser', async ({ database: { pool } }) => {
    const { routeId } = await scene(pool);
    const submission = await importSubmission(pool, 'accepted', routeId);
    await asRole(pool, 'sendledger_owner', async (sql) => {
      expect(await insert(sql, messageIn('delivered', routeId, submission))).toMatchObject(REFUSED);
    });
    expect(await insert(pool, messageIn('delivered', routeId, submission))).toMatchObject(REFUSED);
  });

  test('not the caller of a definer function, whatever the message says about itself', async ({
    database: { pool },
  }) => {
    await scene(pool, { name: 'definer' });
    const forged = Object.assign({}, ...Object.values(FORGED)) as Columns;
    const message = {
      ...forged,
      tenant_id: 'shop',
      channel: 'sms',
      message_class: 'transactional',
      recipient: '919999999999',
      event_type: 'order',
      event_id: 'forged',
      body: 'x',
      encoding: 'GSM7',
      segments: 1,
      route: 'definer',
    };
    for (const role of ['sendledger_producer', 'sendledger_import']) {
      await asRole(pool, 'sendledger_producer', async (sql) => {
        await sql.query('select * from sendledger.enqueue($1::json)', [
          JSON.stringify([{ ...message, event_id: role }]),
        ]);
      });
    }
    const rows = await rowsOf<Columns>(
      pool,
      `select * from sendledger.outbound_message where event_type = 'order' and body = 'x'`,
    );
    expect(rows).toHaveLength(2);
    for (const row of rows) {
      expect(row).toMatchObject({ state: 'pending', attempt_count: 0, conflict: false });
      for (const columns of Object.values(FORGED))
        for (const column of Object.keys(columns))
          if (!['state', 'attempt_count', 'conflict'].includes(column)) expect(row[column], column).toBeNull();
    }
  });

  test('definer functions belong to the owner role, who is no superuser, cannot log in and is not the import role', async ({
    database: { pool },
  }) => {
    const functions = await rowsOf<{ name: string; owner: string; pinned: boolean }>(
      pool,
      `select p.proname::text as name, r.rolname::text as owner,
         exists (select from unnest(p.proconfig) c where c = 'search_path=pg_catalog, sendledger, pg_temp') as pinned
       from pg_proc p join pg_roles r on r.oid = p.proowner
       where p.pronamespace = 'sendledger'::regnamespace and p.prosecdef`,
    );
    expect(functions.length).toBeGreaterThan(5);
    expect(functions.filter((f) => f.owner !== 'sendledger_owner' || !f.pinned)).toEqual([]);
    expect(
      await rowsOf(
        pool,
        `select rolsuper, rolcanlogin, pg_has_role('sendledger_owner', 'sendledger_import', 'member') as imports
         from pg_roles where rolname = 'sendledger_owner'`,
      ),
    ).toEqual([{ rolsuper: false, rolcanlogin: false, imports: false }]);
  });

  test('nobody but the owner owns a table, and no other role may be used to get there', async ({
    database: { pool },
  }) => {
    expect(
      await rowsOf(
        pool,
        `select c.relname::text from pg_class c
         where c.relnamespace = 'sendledger'::regnamespace and c.relkind in ('r', 'p', 'S')
           and c.relowner <> 'sendledger_owner'::regrole and c.relname not like 'mikro_orm_migrations%'`,
      ),
    ).toEqual([]);
  });
});
