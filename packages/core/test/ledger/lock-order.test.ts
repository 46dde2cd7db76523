import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { afterEach, describe, expect } from 'vitest';
import { wakeWatched, watchAbsent } from '../../src/ledger/absence-watch.ts';
import { expireUnconfirmed } from '../../src/ledger/expire.ts';
import { applyOutcomes, claim, durably, type RowRef, release, rowsOf, type Sql } from '../../src/ledger/index.ts';
import { lockSubmissionsOf } from '../../src/ledger/lock-submissions.ts';
import { endPolls, wakePolls } from '../../src/ledger/polls.ts';
import { claimRequest, marked, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';
import { untilWaiting } from './until-waiting.ts';

const ROWS = 5;
const RECIPIENTS = Array.from({ length: ROWS }, (_, i) => `91900000000${i}`);

interface Rows {
  readonly messages: readonly RowRef[];
  readonly submissions: readonly RowRef[];
}

interface Case {
  readonly statement: string;
  readonly make: (pool: pg.Pool, s: Scene) => Promise<Rows>;
  readonly run: (sql: Sql, rows: Rows) => Promise<unknown>;
  readonly table: 'submission' | 'outbound_message' | 'absence_watch';
}

const requests = (pool: pg.Pool, s: Scene) =>
  marked(
    pool,
    s,
    RECIPIENTS.map((recipient) => ({ recipient })),
  );

async function accepted(pool: pg.Pool, s: Scene): Promise<Rows> {
  const submissions = await requests(pool, s);
  await durably(pool, (sql) =>
    applyOutcomes(
      sql,
      submissions.map((m) => outcomeOf(m, 'accepted', { pollInMs: 7_200_000 })),
    ),
  );
  return refs(pool);
}

async function refs(pool: pg.Pool): Promise<Rows> {
  const messages = await rowsOf<RowRef>(
    pool,
    'select id, created_at as "createdAt" from sendledger.outbound_message order by id',
  );
  const submissions = await rowsOf<RowRef>(
    pool,
    'select id, created_at as "createdAt" from sendledger.submission order by id',
  );
  return { messages, submissions };
}

const CASES: readonly Case[] = [
  {
    statement: 'endPolls',
    table: 'submission',
    make: async (pool, s) => {
      const rows = await accepted(pool, s);
      await pool.query(
        `update sendledger.outbound_message set state = 'expired', state_reason = 'no_receipt' where state = 'submitted'`,
      );
      return rows;
    },
    run: (sql, { submissions }) => endPolls(sql, submissions),
  },
  {
    statement: 'wakePolls',
    table: 'submission',
    make: accepted,
    run: (sql, { submissions }) => wakePolls(sql, submissions),
  },
  {
    statement: 'lockSubmissionsOf',
    table: 'submission',
    make: accepted,
    run: (sql, { messages }) => lockSubmissionsOf(sql, messages),
  },
  {
    statement: 'release',
    table: 'submission',
    make: async (pool, s) => {
      await enqueue(
        pool,
        RECIPIENTS.map((recipient) => ({ recipient, route: s.name })),
      );
      await claim(pool, claimRequest(s));
      return refs(pool);
    },
    run: (sql, { submissions }) => release(sql, submissions),
  },
  {
    statement: 'expireUnconfirmed',
    table: 'outbound_message',
    make: async (pool, s) => {
      const rows = await accepted(pool, s);
      await pool.query(`update sendledger.outbound_message set receipt_by = now() - interval '2 days'`);
      return rows;
    },
    run: (sql, { submissions }) =>
      expireUnconfirmed(
        sql,
        submissions.map((one) => one.id),
      ),
  },
  {
    statement: 'wakeWatched',
    table: 'absence_watch',
    make: async (pool, s) => {
      const rows = await accepted(pool, s);
      await watchAbsent(pool, rows.messages);
      return rows;
    },
    run: (sql) => wakeWatched(sql, RECIPIENTS),
  },
];

const KEY = { submission: 'id', outbound_message: 'id', absence_watch: 'message_id' } as const;
/** A column of an index: changing it moves the row to the end of its table. */
const INDEXED = { submission: 'poll_at', outbound_message: 'receipt_by', absence_watch: 'next_look_at' } as const;

const ids = async (sql: Pick<pg.Pool, 'query'>, text: string, values: unknown[] = []): Promise<string[]> =>
  (await sql.query<{ id: string }>(text, values)).rows.map((row) => row.id);

/**
 * Whoever takes locks on several rows of a table takes them by id. An update alone takes them in the order in which it finds the
 * rows, so that two that name the same ones may each wait for the other; the kill matrix found two that did.
 */
describe('locks on several rows are taken by id, wherever the rows lie', () => {
  const open: pg.PoolClient[] = [];
  afterEach(() => {
    for (const client of open.splice(0)) client.release(true);
  });

  for (const { statement, table, make, run } of CASES)
    test(statement, async ({ freshDatabase: { pool } }) => {
      const s = await scene(pool, { maxBatch: 1 });
      const rows = await make(pool, s);
      const key = KEY[table];
      const all = await ids(pool, `select ${key}::text as id from sendledger.${table} order by ${key}`);
      expect(all).toHaveLength(ROWS);
      // The last one first.
      for (const id of all.toReversed())
        await pool.query(
          `update sendledger.${table} set ${INDEXED[table]} = coalesce(${INDEXED[table]}, now()) + interval '1 second' where ${key} = $1`,
          [id],
        );
      expect(await ids(pool, `select ${key}::text as id from sendledger.${table} order by tableoid, ctid`)).toEqual(
        all.toReversed(),
      );

      const holder = await pool.connect();
      const waiter = await pool.connect();
      open.push(holder, waiter);
      await holder.query('begin');
      await holder.query(`select 1 from sendledger.${table} where ${key} = $1 for update`, [all[2]]);
      // As it is met in a large table and in a small one: through the index, and through the table.
      for (const index of ['on', 'off']) {
        await waiter.query('begin');
        await waiter.query(`set local enable_indexscan = ${index}; set local enable_bitmapscan = ${index}`);
        const running = run(waiter, rows);
        running.catch(() => undefined);
        expect(await untilWaiting(pool, waiter, running)).toBe('waits');
        const free = await ids(
          pool,
          `select ${key}::text as id from sendledger.${table} order by ${key} for update skip locked`,
        );
        expect(free).toEqual(all.slice(3));
        await pool.query('select pg_cancel_backend($1)', [(waiter as pg.PoolClient & { processID: number }).processID]);
        await expect(running).rejects.toThrow(/cancel/);
        await waiter.query('rollback');
      }
    });
});
