import { test as base } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  backfillBadRows,
  backfillDayApplied,
  backfillOrphans,
  backfillRun,
  backfillRuns,
  countOrphans,
  noteBackfillReceipts,
  rowsOf,
  takeBackfillDay,
  unappliedOfDay,
} from '../../src/ledger/index.ts';
import { scene } from '../ledger/scene.ts';
import { type Catalogue, catalogue, Explainer, faults } from './explain.ts';

const TOKEN = '0b9e1c0e-6d1c-4c86-9a39-0d6f0f1f5f11';
/** Days of 2 000 receipts, of months past and of this one; of those of the last days some are not applied. */
const DAYS = 60;
const A_DAY = 2_000;

interface Ledger {
  readonly pool: pg.Pool;
  readonly facts: Catalogue;
  readonly serverVersion: number;
}

const test = base.extend('ledger', { scope: 'file' }, async ({ database: { pool } }): Promise<Ledger> => {
  const { routeId } = await scene(pool, { name: 'main' });
  await pool.query(
    `select sendledger.create_month(((now() at time zone 'UTC')::date - make_interval(months => m))::date) from generate_series(0, 4) m`,
  );
  await pool.query(
    `insert into sendledger.delivery_receipt (dedupe_hash, received_month, received_at, route_id, source, provider_txn_id, recipient, status_word, status, applied_at)
     select sha256(convert_to(g::text, 'UTF8')), x.month, x.month, $1, 'day', 'txn-' || g, '9190' || g, 'DELIVERED', 'delivered',
       case when g % 50 > 0 then now() end
     from generate_series(1, ${DAYS * A_DAY}) g
     cross join lateral (select (date_trunc('month', now() at time zone 'UTC') - make_interval(months => (g % 4)::int))::date as month) x`,
    [routeId],
  );
  await pool.query(
    `insert into sendledger.job_run (kind, from_day, to_day, started_by) values ('backfill', current_date - ${DAYS}, current_date - 1, 'test')`,
  );
  await pool.query(
    `insert into sendledger.job_checkpoint (run_id, provider, account, route_id, day, state, stored_at, rows_read)
     select 1, 'smsgatewaycenter', 'default', $1, current_date - ${DAYS} - 1 + d, 'stored', now(), ${A_DAY} from generate_series(1, ${DAYS}) d`,
    [routeId],
  );
  await pool.query(
    `insert into sendledger.job_receipt (checkpoint_id, dedupe_hash, fresh)
     select (g - 1) / ${A_DAY} + 1, sha256(convert_to(g::text, 'UTF8')), true from generate_series(1, ${DAYS * A_DAY}) g`,
  );
  await pool.query(
    `insert into sendledger.job_bad_row (checkpoint_id, file_no, line_no, reason) select d, 1, l, 'stray_quote' from generate_series(1, ${DAYS}) d, generate_series(1, 500) l`,
  );
  await pool.query(
    `update sendledger.job_checkpoint set lease_token = $1, lease_until = now() + interval '1 hour', worker_id = 7 where id = 30`,
    [TOKEN],
  );
  await pool.query('analyze');
  const [version] = await rowsOf<{ n: number }>(pool, `select current_setting('server_version_num')::int as n`);
  return { pool, facts: await catalogue(pool), serverVersion: version?.n ?? 0 };
});

const hashes = async (sql: Explainer) =>
  (
    await rowsOf<{ dedupe_hash: Buffer }>(
      sql,
      'select j.dedupe_hash from sendledger.job_receipt j where j.checkpoint_id = 30 order by j.dedupe_hash limit 500',
    )
  ).map((row) => row.dedupe_hash);

const CASES: Readonly<Record<string, (sql: Explainer) => Promise<unknown>>> = {
  'which receipts a day brought is noted': async (sql) =>
    noteBackfillReceipts(sql, { id: '31', token: TOKEN }, await hashes(sql)),
  'what is not applied of a day': async (sql) =>
    expect(await unappliedOfDay(sql, '30', Buffer.alloc(0), 500)).toHaveLength(A_DAY / 50),
  'what matches no message, of a part': async (sql) => countOrphans(sql, '30', await hashes(sql)),
  'what matches no message, of a run': async (sql) => expect(await backfillOrphans(sql, '1', 100)).toHaveLength(100),
  'the sums of a day': async (sql) => expect(await backfillDayApplied(sql, { id: '30', token: TOKEN }, 0)).toBe(true),
  'a day is taken': (sql) =>
    takeBackfillDay(sql, { workerId: '7', leaseMs: 1_000, accounts: ['smsgatewaycenter/default'] }),
  'how far runs are, and their bad rows': async (sql) => {
    expect(await backfillRuns(sql)).toHaveLength(1);
    expect((await backfillRun(sql, '1'))?.checkpoints).toHaveLength(DAYS);
    expect(await backfillBadRows(sql, '1', 100)).toHaveLength(100);
  },
};

describe('no statement of a backfill reads all receipts', () => {
  for (const [name, does] of Object.entries(CASES))
    test(name, async ({ ledger }) => {
      const client = await ledger.pool.connect();
      try {
        await client.query('begin; set local jit = off');
        const sql = new Explainer(client, ledger.serverVersion);
        await does(sql);
        expect(faults(sql.explained, ledger.facts, [])).toEqual([]);
      } finally {
        await client.query('rollback');
        client.release();
      }
    });
});
