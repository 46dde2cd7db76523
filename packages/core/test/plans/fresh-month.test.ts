import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { expect } from 'vitest';
import {
  applyOutcomes,
  applyReceipts,
  claim,
  durably,
  markNext,
  prepared,
  recordReceipts,
  rowsOf,
  type Sql,
  sweepMarkedLeases,
  sweepOpenLeases,
  takeDuePolls,
  WORKER_SESSION,
} from '../../src/ledger/index.ts';
import { endPolls } from '../../src/ledger/polls.ts';
import { claimRequest, markRequest, outcomeOf } from '../ledger/on-the-way.ts';
import { enqueue, scene } from '../ledger/scene.ts';

const BATCHES = 6;
const BATCH = 100;

/** Rows that this session read by going through a month from end to end, by table. */
async function readFromEndToEnd(sql: Sql): Promise<Record<string, number>> {
  const rows = await rowsOf<{ name: string; rows: number }>(
    sql,
    `select s.relname as name, s.seq_tup_read::integer as rows from pg_stat_user_tables s
     join pg_inherits i on i.inhrelid = s.relid join pg_partitioned_table p on p.partrelid = i.inhparent
     where s.schemaname = 'sendledger' and p.partstrat = 'r' and s.seq_tup_read > 0`,
  );
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]));
}

/**
 * On the first of a month its partitions are empty, and so they are in a new ledger. A plan that is made then is kept, and the month fills
 * for a minute before anything analyzes it.
 */
test('a worker that planned its statements in an empty month never reads that month from end to end', async ({
  freshDatabase: { pool, url },
}) => {
  const leaves = await rowsOf<{ name: string }>(
    pool,
    `select i.inhrelid::regclass::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where c.relkind = 'r' and c.relnamespace = 'sendledger'::regnamespace`,
  );
  for (const { name } of leaves) await pool.query(`alter table ${name} set (autovacuum_enabled = off)`);
  const s = await scene(pool, { maxBatch: 1 });
  await pool.query('update sendledger.route set max_open_submissions = 100000, max_in_flight_requests = 100000');
  const worker = new pg.Pool({
    connectionString: url,
    max: 1,
    onConnect: async (client: pg.ClientBase) => {
      await client.query(WORKER_SESSION);
    },
  });
  const origin = { routeId: s.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' } as const;
  try {
    for (let batch = 0; batch < BATCHES; batch++) {
      await enqueue(
        pool,
        Array.from({ length: BATCH }, (_, i) => ({
          route: s.name,
          recipient: `9190${10_000_000 + batch * BATCH + i}`,
        })),
      );
      await pool.query('select pg_stat_reset()');
      await claim(worker, claimRequest(s));
      const marks = await markNext(worker, markRequest(s));
      expect(marks).toHaveLength(BATCH);
      await durably(worker, (sql) =>
        applyOutcomes(
          sql,
          marks.map((m) => outcomeOf(m, 'accepted', { pollInMs: 0 })),
        ),
      );
      await durably(worker, (sql) => sweepOpenLeases(sql, 100));
      await durably(worker, (sql) => sweepMarkedLeases(sql, 100));
      const polls = await durably(worker, (sql) =>
        takeDuePolls(sql, { limit: 1_000, firstMs: 1, longestMs: 1, accounts: ['smsgatewaycenter/default'] }),
      );
      expect(polls.length).toBeGreaterThanOrEqual(BATCH);
      await durably(worker, async (sql) => {
        const { hashes } = await recordReceipts(
          sql,
          origin,
          marks.flatMap((m) =>
            m.rows.map((row) => ({
              providerTxnId: `txn-${m.id}`,
              providerMessageId: `pm-${row.id}`,
              recipient: row.recipient,
              senderId: null,
              statusWord: 'DELIVRD',
              status: 'delivered' as const,
              cause: null,
              causeClass: null,
              submittedAt: null,
              deliveredAt: new Date(),
              evidence: {},
            })),
          ),
        );
        expect(await applyReceipts(sql, origin, hashes)).toMatchObject({ delivered: BATCH });
      });
      await durably(worker, (sql) => endPolls(sql, polls));
      await prepared(worker).query('select pg_stat_force_next_flush()');
      await prepared(worker).query('select 1');
      expect({ batch, read: await readFromEndToEnd(pool) }).toEqual({ batch, read: {} });
    }
  } finally {
    await worker.end();
  }
});
