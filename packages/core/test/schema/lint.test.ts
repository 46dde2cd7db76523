import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { rowsOf } from '../../src/ledger/index.ts';

const OURS = `n.nspname = 'sendledger' and c.relname not like 'mikro\\_orm\\_migrations%'`;

/** Columns that break a rule of types, as `table.column: type`. */
async function columns(pool: pg.Pool | pg.PoolClient, condition: string): Promise<string[]> {
  const rows = await rowsOf<{ column: string }>(
    pool,
    `select c.relname || '.' || a.attname || ': ' || format_type(a.atttypid, a.atttypmod) as column
     from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where ${OURS} and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped and (${condition}) order by 1`,
  );
  return rows.map((row) => row.column);
}

interface Index {
  readonly name: string;
  readonly table: string;
  readonly columns: readonly string[];
  readonly predicate: string | null;
}

async function indexes(pool: pg.Pool | pg.PoolClient): Promise<Index[]> {
  return rowsOf<Index & Record<string, unknown>>(
    pool,
    `select i.indexrelid::regclass::text as name, c.relname::text as table,
       array(select pg_get_indexdef(i.indexrelid, k, true) from generate_series(1, i.indnkeyatts) k order by k) as columns,
       pg_get_expr(i.indpred, i.indrelid) as predicate
     from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
     where ${OURS}`,
  );
}

/** Tables whose rows are looked up by tenant; on any other an index led by the tenant is a scan of the biggest one's rows. */
const LED_BY_TENANT = /^(message_key(_\d)?|tenant|tenant_route|cancellation|fallback)$/;

const INDEX_RULES: readonly { says: string; breaks: (index: Index) => boolean }[] = [
  {
    says: 'no index holds a body: it is long, and it is what is redacted',
    breaks: (i) => i.columns.some((column) => /\bbody\b/.test(column)),
  },
  { says: 'no index is on a state alone', breaks: (i) => i.columns.length === 1 && i.columns[0] === 'state' },
  {
    says: 'no index is led by the tenant without need',
    breaks: (i) => i.columns[0] === 'tenant_id' && !LED_BY_TENANT.test(i.table),
  },
  {
    says: 'no index is led by a state or a class: a few values, each with millions of rows',
    breaks: (i) => ['state', 'message_class', 'channel'].includes(i.columns[0] ?? ''),
  },
];

describe('indexes', () => {
  for (const { says, breaks } of INDEX_RULES)
    test(says, async ({ database: { pool } }) => {
      const all = await indexes(pool);
      expect(all.length).toBeGreaterThan(20);
      expect(all.filter(breaks)).toEqual([]);
    });

  test('each rule bites', async ({ freshDatabase: { pool } }) => {
    await pool.query(`create index bad_0 on sendledger.outbound_message (id, body);
      create index bad_1 on sendledger.outbound_message (state);
      create index bad_2 on sendledger.outbound_message (tenant_id, created_at);
      create index bad_3 on sendledger.outbound_message (message_class, due_at)`);
    const all = await indexes(pool);
    for (const [i, rule] of INDEX_RULES.entries())
      expect(
        all.filter(rule.breaks).map((index) => index.name),
        rule.says,
      ).toContain(`sendledger.bad_${i}`);
  });

  test('no two indexes of one table have the same columns and predicate', async ({ database: { pool } }) => {
    const seen = new Map<string, string>();
    const twice: string[] = [];
    for (const index of await indexes(pool)) {
      const key = JSON.stringify([index.table, index.columns, index.predicate]);
      const other = seen.get(key);
      if (other !== undefined) twice.push(`${other} = ${index.name}`);
      seen.set(key, index.name);
    }
    expect(twice).toEqual([]);
  });
});

/** Each: a rule over pg_attribute, and a column that would break it. */
const COLUMN_RULES: readonly { says: string; breaks: string; bad: string }[] = [
  {
    says: 'every instant is timestamptz',
    // The opening of a send window is a time of day, in a zone that is named beside it, and no instant.
    breaks:
      "a.atttypid in ('timestamp'::regtype, 'time'::regtype, 'timetz'::regtype) and a.attname not in ('window_opens', 'window_closes')",
    bad: 'timestamp',
  },
  {
    says: 'no column is a float, and none is money',
    breaks: "a.atttypid in ('float4'::regtype, 'float8'::regtype, 'money'::regtype)",
    bad: 'double precision',
  },
  {
    says: "every id that somebody else issued is of the domain that refuses the provider's placeholders",
    breaks: `(a.attname ~ '^provider_.*_id$' or a.attname ~ '^dlt_.*_id$') and a.atttypid <> 'sendledger.foreign_id'::regtype`,
    bad: 'text',
  },
  {
    says: 'every amount is numeric(12,4)',
    breaks: `a.attname ~ '(^|_)(cost|amount)$' and format_type(a.atttypid, a.atttypmod) <> 'numeric(12,4)'`,
    bad: 'numeric',
  },
  {
    says: 'every number with a fraction has its scale said; a price per unit has two digits more than an amount',
    breaks: `a.atttypid = 'numeric'::regtype and format_type(a.atttypid, a.atttypmod) <> 'numeric(12,4)'
      and not (c.relname = 'rate_card' and a.attname = 'price' and format_type(a.atttypid, a.atttypmod) = 'numeric(12,6)')`,
    bad: 'numeric',
  },
  {
    says: 'every currency is three letters',
    breaks: `a.attname ~ '(^|_)currency$' and format_type(a.atttypid, a.atttypmod) <> 'character(3)'`,
    bad: 'text',
  },
  {
    says: 'every id of ours is a bigint',
    breaks: `a.attname in ('id', 'message_id', 'submission_id', 'replaces_id', 'route_id', 'marked_by', 'claimed_by') and a.atttypid <> 'int8'::regtype`,
    bad: 'integer',
  },
  {
    says: 'every created_at that is part of a key has milliseconds, as a Date has',
    breaks: `(a.attname ~ '^(message|submission|replaces)_created_at$' or (a.attname = 'created_at' and c.relname ~ '^(outbound_message|submission)'))
      and format_type(a.atttypid, a.atttypmod) <> 'timestamp(3) with time zone'`,
    bad: 'timestamptz',
  },
];
const BAD_NAME = [
  'when_at',
  'rate',
  'provider_thing_id',
  'refund_amount',
  'share',
  'cost_currency',
  'message_id',
  'message_created_at',
];

describe('columns', () => {
  for (const [i, { says, breaks, bad }] of COLUMN_RULES.entries())
    test(says, async ({ database: { pool } }) => {
      expect(await columns(pool, breaks)).toEqual([]);
      // The rule bites.
      const client = await pool.connect();
      try {
        await client.query(`begin; create table sendledger.bad_table (${BAD_NAME[i]} ${bad})`);
        expect(await columns(client, breaks)).toHaveLength(1);
      } finally {
        await client.query('rollback');
        client.release();
      }
    });
});

describe('every partition is guarded', () => {
  test('the statement trigger that looks at submissions is on each month and on the parent', async ({
    freshDatabase: { pool },
  }) => {
    await pool.query(`select sendledger.create_month('2031-05-01')`);
    const unguarded = () =>
      rowsOf<{ name: string }>(
        pool,
        `select c.relname::text as name from pg_class c
         where (c.oid = 'sendledger.outbound_message'::regclass
             or c.oid in (select i.inhrelid from pg_inherits i where i.inhparent = 'sendledger.outbound_message'::regclass))
           and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'guard_submission' and t.tgenabled = 'O'
             and t.tgfoid = 'sendledger.check_submission_moves'::regproc and t.tgoldtable is not null and t.tgnewtable is not null
             -- after (not before), for each statement (not row), on update
             and t.tgtype & 1 = 0 and t.tgtype & 2 = 0 and t.tgtype & 16 = 16)`,
      );
    expect(await unguarded()).toEqual([]);
    await pool.query('drop trigger guard_submission on sendledger.outbound_message_2031_05');
    expect(await unguarded()).toEqual([{ name: 'outbound_message_2031_05' }]);
  });

  test('the row triggers of each parent are on each of its partitions, enabled', async ({
    freshDatabase: { pool },
  }) => {
    await pool.query(`select sendledger.create_month('2031-05-01')`);
    expect(
      await rowsOf(
        pool,
        `select t.tgname::text, i.inhrelid::regclass::text as partition
         from pg_trigger t join pg_inherits i on i.inhparent = t.tgrelid
         where t.tgrelid in ('sendledger.outbound_message'::regclass, 'sendledger.submission'::regclass, 'sendledger.delivery_receipt'::regclass)
           and not t.tgisinternal and t.tgtype & 1 = 1
           and not exists (select from pg_trigger x where x.tgrelid = i.inhrelid and x.tgparentid = t.oid and x.tgenabled = 'O')`,
      ),
    ).toEqual([]);
  });
});

test('functions with a statement over the ledger do not wait for a compiler: jit is off in them', async ({
  database: { pool },
}) => {
  expect(
    await rowsOf(
      pool,
      `select p.proname::text as name from pg_proc p
       where p.pronamespace = 'sendledger'::regnamespace and p.proname in ('enqueue_set', 'check_submission_moves')
         and 'jit=off' = any (p.proconfig) order by 1`,
    ),
  ).toEqual([{ name: 'check_submission_moves' }, { name: 'enqueue_set' }]);
});
