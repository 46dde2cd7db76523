import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerWorker, rowsOf } from '@sendledger/core/ledger';
import type pg from 'pg';
import { startChild } from '../../apps/demo/src/child.ts';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { seedAwaited, seedHistory, seedWaiting } from './claims/seed.ts';
import { furnish } from './house.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { spreadOf } from './percentiles.ts';
import { type Bar, type BenchResult, say } from './report.ts';
import { type Database, ENVIRONMENT, type Services, startServices } from './services.ts';

const WAITING = 20_000;
const AWAITED = 20_000;
/** Asked for each kind of page, one after the other. */
const REQUESTS = 100;
/** The first ones make plans and load pages. */
const WARM = 10;
/** What a page may take at the median, ms. */
const BAR_MS = 100;

interface Sample {
  readonly id: string;
  readonly recipient: string;
  readonly event_id: string;
  readonly business_key: string;
  readonly attempt_key: string;
  readonly provider_message_id: string;
  readonly txn: string;
}

/** How long a person waits for the first page and for a message, beside many. */
export async function benchOps(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const loadBefore = loadNow();
  const services = await startServices(cleanup, 'any', options, { max_wal_size: '8GB', checkpoint_timeout: '15min' });
  const database = await services.database();
  say(`a past of ${options.messages} messages, ${WAITING} that wait and ${AWAITED} without receipt`);
  const samples = await seed(database.pool, options.messages);
  const url = await startOps(database, services, cleanup);
  await counted(database.pool);

  const pages: readonly [string, (n: number) => string][] = [
    ['the overview', () => '/'],
    ['its figures, as the page renews itself', () => '/overview/figures'],
    ['metrics', () => '/metrics'],
    ['look-up by our id', (n) => find(samples[n]?.id)],
    ['by recipient', (n) => find(samples[n]?.recipient)],
    ['by event id', (n) => find(samples[n]?.event_id)],
    ['by business key', (n) => find(samples[n]?.business_key)],
    ['by attempt key', (n) => find(samples[n]?.attempt_key)],
    ["by the provider's message id", (n) => find(samples[n]?.provider_message_id)],
    ["by the provider's transaction id", (n) => find(samples[n]?.txn)],
    ['by what nobody knows', (n) => find(`nobody-${n}`)],
  ];
  const rows: (string | number)[][] = [];
  const bars: Bar[] = [];
  for (const [what, pathOf] of pages) {
    const times: number[] = [];
    for (let n = 0; n < WARM + REQUESTS; n++) {
      const ms = await ask(url, pathOf(n));
      if (n >= WARM) times.push(ms);
      // An overview is read once a second at most, whoever asks; what is measured is the reading.
      if (pathOf(n) === '/' || pathOf(n) === '/overview/figures') await new Promise((r) => setTimeout(r, 1_050));
    }
    const { p50, p99, max } = spreadOf(times);
    rows.push([what, times.length, p50, p99, max]);
    if (what !== 'metrics') bars.push({ what: `${what}, ms at the median`, measured: p50, atMost: BAR_MS });
    say(`${what}: p50 ${p50.toFixed(1)} ms`);
  }
  const [census] = await rowsOf<{ took: number }>(database.pool, 'select took_ms as took from sendledger.census');
  return {
    bench: 'ops',
    at: new Date().toISOString(),
    machine: await machineOf(database.pool, services.redis.url, loadBefore),
    loadAfter: loadNow(),
    options: { messages: options.messages },
    tables: [
      {
        title: `Pages over HTTP beside ${options.messages} messages, redirects followed; the census beside them took ${census?.took} ms`,
        head: ['page', 'requests', 'p50 ms', 'p99 ms', 'max ms'],
        rows,
      },
    ],
    bars,
  };
}

const find = (text: string | undefined) => `/messages?q=${encodeURIComponent(text ?? '')}`;

/** From the first byte asked to the last one read, the page after a redirect included. */
async function ask(url: string, path: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${url}${path}`);
  await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return performance.now() - startedAt;
}

async function seed(pool: pg.Pool, messages: number): Promise<Sample[]> {
  const routeId = await furnish(pool, { maxBatch: 500, submitWorkers: 1 });
  const { id: workerId } = await registerWorker(pool, 'bench', randomUUID());
  const lane = { routeId, workerId };
  await seedHistory(pool, lane, messages);
  await seedWaiting(pool, lane, WAITING, ['tenant-1', 'tenant-2'], 600_000);
  await seedAwaited(pool, lane, AWAITED);
  const client = await pool.connect();
  try {
    await client.query('set session_replication_role = replica; set synchronous_commit = off');
    await client.query(
      `insert into sendledger.message_key (tenant_id, business_key, message_id, message_created_at, content_hash, event_id)
       select m.tenant_id, m.business_key, m.id, m.created_at, '\\x00', m.event_id from sendledger.outbound_message m`,
    );
    await client.query(
      `insert into sendledger.provider_message (account, provider_message_id, message_id, message_created_at)
       select 'smsgatewaycenter/default', m.provider_message_id, m.id, m.created_at from sendledger.outbound_message m
       where m.state = 'delivered'`,
    );
    await client.query(
      `insert into sendledger.delivery_receipt (dedupe_hash, received_at, received_month, route_id, source, provider_txn_id,
         provider_message_id, recipient, status_word, status, message_id, message_created_at, applied_at)
       select sha256(m.id::text::bytea), m.created_at, date_trunc('month', m.created_at at time zone 'UTC')::date, m.route_id, 'poll',
         m.provider_txn_id, m.provider_message_id, m.recipient, 'DELIVERED', 'delivered', m.id, m.created_at, m.created_at
       from sendledger.outbound_message m where m.state = 'delivered'`,
    );
    // Spread over the year; each bears the attempt key that enqueue gives.
    const samples = await rowsOf<Sample>(
      client,
      `update sendledger.outbound_message m set attempt_key = sendledger.attempt_key_of(m.id, gen_random_uuid())
       from sendledger.submission s
       where m.id = any (array(select x.id from sendledger.outbound_message x where x.state = 'delivered'
           and x.id % greatest(1, $1::bigint / ${WARM + REQUESTS}) = 7 limit ${WARM + REQUESTS}))
         and s.id = m.submission_id and s.created_at = m.submission_created_at
       returning m.id, m.recipient, m.event_id, m.business_key, m.attempt_key, m.provider_message_id, s.provider_txn_id as txn`,
      [messages],
    );
    await client.query('reset session_replication_role; reset synchronous_commit');
    await client.query('vacuum analyze');
    await client.query('checkpoint');
    if (samples.length < WARM + REQUESTS) throw new Error(`only ${samples.length} samples of ${messages} messages`);
    return samples;
  } finally {
    client.release();
  }
}

async function startOps(database: Database, services: Services, cleanup: Cleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sendledger-bench-ops-'));
  const ops = await startChild({
    name: 'ops',
    app: 'ops',
    environment: {
      SENDLEDGER_ENVIRONMENT: ENVIRONMENT,
      SENDLEDGER_INSTANCE: 'bench-ops',
      SENDLEDGER_OPS_PORT: '0',
      DATABASE_URL: database.urlFor('sendledger_ops'),
      REDIS_URL: services.redis.url,
    },
    logFile: join(folder, 'ops.log'),
    readyIn: (line) => (line.includes('"started"') ? String(JSON.parse(line).health) : undefined),
  });
  cleanup.add('stop ops', async () => {
    await ops.stop(10_000);
    await rm(folder, { recursive: true, force: true });
  });
  return ops.url;
}

async function counted(pool: pg.Pool): Promise<void> {
  while ((await rowsOf(pool, 'select 1 from sendledger.census where counted_at is not null')).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 100));
}
