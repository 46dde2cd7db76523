import { test as base } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyReceipts,
  claim,
  durably,
  type LaneHint,
  type ReceiptRecord,
  recordReceipts,
  rowsOf,
  WORKER_SESSION,
} from '../../src/ledger/index.ts';
import { claimRequest } from '../ledger/on-the-way.ts';
import { type Scene, scene } from '../ledger/scene.ts';

/**
 * Pages that the hot statements touch, compared with themselves. Counts, not times: the same on a laptop and on a busy machine. Each
 * test has a ledger of its own, a worker's connection, and nobody who vacuums or analyses behind its back.
 */
const test = base.extend('ledger', async ({ freshDatabase }, { onCleanup }) => {
  const { pool, url } = freshDatabase;
  const leaves = await rowsOf<{ name: string }>(
    pool,
    `select i.inhrelid::regclass::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where c.relkind = 'r'
       and i.inhparent in ('sendledger.outbound_message'::regclass, 'sendledger.submission'::regclass, 'sendledger.delivery_receipt'::regclass)
     union all select 'sendledger.provider_message'`,
  );
  for (const { name } of leaves) await pool.query(`alter table ${name} set (autovacuum_enabled = off)`);
  const s = await scene(pool, { maxBatch: 1 });
  await pool.query('update sendledger.route set max_open_submissions = 100000');
  const worker = new pg.Pool({
    connectionString: url,
    max: 1,
    onConnect: async (client: pg.ClientBase) => {
      await client.query(WORKER_SESSION);
    },
  });
  worker.on('error', () => undefined);
  onCleanup(() => worker.end());
  return { pool, url, scene: s, worker };
});

interface Ledger {
  readonly pool: pg.Pool;
  readonly url: string;
  readonly scene: Scene;
  readonly worker: pg.Pool;
}

const TENANTS = 5;
const ROWS = 100;

/** As restored: no trigger of ours runs. */
async function asRestored(pool: pg.Pool, text: string, values: unknown[]): Promise<{ rows: unknown[] }> {
  const client = await pool.connect();
  try {
    await client.query('begin; set local session_replication_role = replica');
    const answer = await client.query(text, values);
    await client.query('commit');
    return answer;
  } finally {
    client.release();
  }
}

const COLUMNS = `created_at, tenant_id, business_key, event_type, event_id, channel, message_class, recipient, sender_id, route_id, provider, body, encoding,
  segments, due_at, submit_by, on_proven_absent`;
const VALUES = `at, 't' || g % ${TENANTS}, gen_random_uuid()::text, 'order', 'e' || g, 'sms', 'transactional', '9190' || lpad(g::text, 8, '0'), 'SHOP', $1, 'smsgatewaycenter',
  repeat('x', 120), 'GSM7', 1, at, now() + interval '1 day', 'stop'`;
const FROM = `from generate_series(1, $2::int) g cross join lateral (select date_trunc('milliseconds', now() - $3 * interval '1 ms' * (1 - g / $2::float8)) as at) x`;
const SENT = `claimed_at = now(), requested_at = now(), submitted_at = now(), quoted_units = 1, quoted_cost = 0.1, quoted_currency = 'INR', billable_units = 1,
  cost = 0.1, cost_currency = 'INR', cost_source = 'quote', submission_id = m.id, submission_created_at = m.created_at`;

const MINUTE_MS = 60_000;

/** Rows that wait, due in turn over the time before now. */
const waiting = ({ pool, scene: s }: Ledger, rows: number, sinceMs: number) =>
  asRestored(pool, `insert into sendledger.outbound_message (${COLUMNS}) select ${VALUES} ${FROM}`, [
    s.routeId,
    rows,
    sinceMs,
  ]);

/** All that waits has been sent and delivered. */
const deliverAll = ({ pool, scene: s }: Ledger) =>
  asRestored(
    pool,
    `update sendledger.outbound_message m set state = 'delivered', delivered_at = now(), ${SENT} where m.route_id = $1 and m.state = 'pending'`,
    [s.routeId],
  );

/** What was claimed is no longer open. */
async function close({ pool }: Ledger): Promise<void> {
  await asRestored(
    pool,
    `update sendledger.outbound_message m set state = 'delivered', ${SENT} where m.state = 'claimed'`,
    [],
  );
  await asRestored(
    pool,
    `update sendledger.submission set state = 'accepted', requested_at = now(), lease_token = gen_random_uuid(), marked_by = claimed_by where state = 'open'`,
    [],
  );
}

async function buffersOf(worker: pg.Pool, work: () => Promise<void>): Promise<number> {
  const touched = async () => {
    // What a session has counted lies in it for a while, unless it is told.
    await worker.query('select pg_stat_force_next_flush()');
    const [row] = await rowsOf<{ pages: number }>(
      worker,
      `select sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0))::float8 as pages
       from pg_statio_user_tables where schemaname = 'sendledger'`,
    );
    return row?.pages ?? Number.NaN;
  };
  const before = await touched();
  await work();
  return (await touched()) - before;
}

/** The middle of some claims of a hundred, with a thousand waiting. The first are not counted: they make plans, and learn what the hint says. */
async function buffersOfAClaim(ledger: Ledger, hinted: boolean): Promise<number> {
  const counts: number[] = [];
  let hint: LaneHint | null = null;
  for (let n = 0; n < 7; n++) {
    const request = {
      ...claimRequest(ledger.scene, 'transactional', ROWS),
      ...(hinted && hint !== null ? { hint } : {}),
    };
    const pages = await buffersOf(ledger.worker, async () => {
      const claimed = await claim(ledger.worker, request);
      expect(claimed.rows).toBe(ROWS);
      hint = claimed.hint;
    });
    if (n >= 2) counts.push(pages);
    await close(ledger);
    await waiting(ledger, ROWS, 0);
  }
  return counts.toSorted((a, b) => a - b)[2] ?? Number.NaN;
}

describe('what a claim touches', () => {
  test('is the same beside twenty times as long a past', async ({ ledger }) => {
    await waiting(ledger, 1_500, 60 * MINUTE_MS);
    await deliverAll(ledger);
    await ledger.pool.query('vacuum analyze sendledger.outbound_message');
    await waiting(ledger, 10 * ROWS, 1_000);
    const few = await buffersOfAClaim(ledger, false);
    await deliverAll(ledger);
    await waiting(ledger, 30_000, 60 * MINUTE_MS);
    await deliverAll(ledger);
    await ledger.pool.query('vacuum analyze sendledger.outbound_message');
    await waiting(ledger, 10 * ROWS, 1_000);
    const many = await buffersOfAClaim(ledger, false);
    expect(many / few).toBeLessThanOrEqual(1.2);
  });

  test('is the same behind rows that an old snapshot keeps, where the hint says where to begin', async ({ ledger }) => {
    await waiting(ledger, 10 * ROWS, 1_000);
    const clean = await buffersOfAClaim(ledger, true);
    await deliverAll(ledger);
    await waiting(ledger, 20_000, 60 * MINUTE_MS);
    const holder = new pg.Client({ connectionString: ledger.url });
    await holder.connect();
    try {
      await holder.query('begin isolation level repeatable read; select count(*) from sendledger.route');
      await deliverAll(ledger);
      await waiting(ledger, 10 * ROWS, 1_000);
      expect((await buffersOfAClaim(ledger, true)) / clean).toBeLessThanOrEqual(2);
      // Without it every claim walks over all of them: the dead are there, and this test would see it.
      expect((await buffersOfAClaim(ledger, false)) / clean).toBeGreaterThan(3);
    } finally {
      await holder.end();
    }
  });
});

describe('what a receipt touches', () => {
  test('is the same beside twenty times as many messages that wait for one, with statistics from before', async ({
    ledger,
  }) => {
    await waiting(ledger, 20_000, 60 * MINUTE_MS);
    await deliverAll(ledger);
    await ledger.pool.query('vacuum analyze sendledger.outbound_message');
    const first = await awaited(ledger, 1_000);
    await receive(ledger, first.slice(0, 20));
    const few = await buffersOf(ledger.worker, () => receive(ledger, first.slice(-200)));
    const more = await awaited(ledger, 20_000);
    const many = await buffersOf(ledger.worker, () => receive(ledger, more.slice(-200)));
    expect(many / few).toBeLessThanOrEqual(1.3);
  });
});

interface Awaited {
  readonly txn: string;
  readonly message: string | null;
  readonly recipient: string;
}

/** Messages that were accepted and have no receipt; of every second one the provider's message id is known. */
async function awaited({ pool, scene: s }: Ledger, rows: number): Promise<readonly Awaited[]> {
  const { rows: found } = await asRestored(
    pool,
    `with s as (
       insert into sendledger.submission (route_id, message_class, size, state, epoch_no, not_after, claimed_by, lease_until, marked_by, requested_at,
         lease_token, responded_at, outcome_reason, provider_txn_id)
       select $1, 'transactional', 1, 'accepted', 1, now() + interval '1 h', $3, now(), $3, now(), gen_random_uuid(), now(), 'accepted', '6' || gen_random_uuid()
       from generate_series(1, $2::int) returning id, created_at, provider_txn_id
     ), m as (
       insert into sendledger.outbound_message (${COLUMNS}, state, attempt_count, provider_txn_id, provider_message_id, submission_id, submission_created_at, claimed_at,
         requested_at, submitted_at, receipt_by, quoted_units, quoted_cost, quoted_currency, billable_units, cost, cost_currency, cost_source)
       select s.created_at, 't' || s.id % ${TENANTS}, gen_random_uuid()::text, 'order', 'e', 'sms', 'transactional', '9191' || lpad(s.id::text, 8, '0'), 'SHOP', $1, 'smsgatewaycenter',
         repeat('x', 120), 'GSM7', 1, s.created_at, s.created_at + interval '1 h', 'stop', 'submitted', 1, s.provider_txn_id,
         case when s.id % 2 = 0 then '7' || lpad(s.id::text, 14, '0') end, s.id, s.created_at, now(), now(), now(), now() + interval '1 day',
         1, 0.1, 'INR', 1, 0.1, 'INR', 'quote'
       from s returning id, created_at, provider_txn_id, provider_message_id, recipient
     ), p as (
       insert into sendledger.provider_message (account, provider_message_id, message_id, message_created_at)
       select 'smsgatewaycenter/default', provider_message_id, id, created_at from m where provider_message_id is not null
     )
     select provider_txn_id as txn, provider_message_id as message, recipient from m`,
    [s.routeId, rows, s.worker.id],
  );
  return found as Awaited[];
}

async function receive({ worker, scene: s }: Ledger, rows: readonly Awaited[]): Promise<void> {
  const origin = { routeId: s.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' } as const;
  const records = rows.map(
    (row): ReceiptRecord => ({
      providerTxnId: row.txn,
      providerMessageId: row.message ?? `8${row.recipient}`,
      recipient: row.recipient,
      senderId: 'SHOP',
      statusWord: 'DELIVERED',
      status: 'delivered',
      cause: null,
      causeClass: null,
      submittedAt: null,
      deliveredAt: new Date(),
      evidence: {},
    }),
  );
  const { hashes } = await durably(worker, (sql) => recordReceipts(sql, origin, records));
  const { delivered } = await durably(worker, (sql) => applyReceipts(sql, origin, hashes));
  expect(delivered).toBe(rows.length);
}
