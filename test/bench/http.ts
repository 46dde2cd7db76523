import { durably, pauseLane, resumeLane, rowsOf } from '@sendledger/core/ledger';
import type pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { hostMicros, postmasterOf, treeMicros } from './cpu.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { furnish } from './house.ts';
import { clientCosts } from './http-clients.ts';
import { Intake } from './intake.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { ProviderBooks } from './provider-books.ts';
import { type Bar, type BenchResult, say } from './report.ts';
import { type Services, startServices } from './services.ts';
import { untilLeft } from './stages.ts';

const WARM_UP = 300;
const LEAVE_WITHIN_MS = 300_000;
const RECEIPTS_WITHIN_MS = 120_000;
const LOOK_AGAIN_MS = 250;
/** How long everything is watched while nothing is to be done. */
const IDLE_MS = 3_000;
/** What is counted of a run: its beginning and its end have fewer requests on the wire. */
const FROM = 0.1;
const TO = 0.9;
/** Messages of the run with large requests, times those of the run with small ones. */
const TIMES_IN_BATCHES = 10;
const BATCH = 500;

const PARTS = ['claim', 'submit', 'reconcile', 'Postgres', 'Redis', 'gateway-sim', 'bench'] as const;
type Part = (typeof PARTS)[number];
type Micros = Readonly<Record<Part | 'host', number>>;

/** Messages a second through HTTP, and which part takes how much of the processor for one. */
export async function benchHttp(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const loadBefore = loadNow();
  const services = await startServices(cleanup, 'any', options);
  const runs: Run[] = [];
  for (const batch of [1, BATCH]) runs.push(await drain(options, batch, services, cleanup));
  const clients = await clientCosts(options, cleanup);
  const { pool } = await services.database();
  return {
    bench: 'http',
    at: new Date().toISOString(),
    machine: await machineOf(pool, services.redis.url, loadBefore),
    loadAfter: loadNow(),
    options: {
      messages: options.messages,
      submitWorkers: options.submitWorkers,
      latencyMs: options.latencyMs,
      rounds: options.rounds,
    },
    tables: [
      {
        title: 'Messages a second at the provider, and processor time of one, us, until its outcome is stored',
        head: ['recipients in a request', 'messages', 'a second', ...PARTS, 'all of these', 'others on this host'],
        rows: runs.map((run) => [
          String(run.batch),
          run.messages,
          Math.round(run.rate),
          ...cells(run.sending, run.messages),
        ]),
      },
      {
        title: 'From then until it is delivered, us',
        head: ['recipients in a request', 'delivered', '', ...PARTS, 'all of these', 'others on this host'],
        rows: runs.map((run) => [String(run.batch), run.delivered, '', ...cells(run.receipts, run.delivered)]),
      },
      clients,
    ],
    bars: runs.map(
      (run): Bar => ({ what: `${run.batch} in a request: sent twice`, measured: run.duplicates, atMost: 0 }),
    ),
  };
}

interface Run {
  readonly batch: number;
  readonly messages: number;
  readonly rate: number;
  readonly sending: Micros;
  readonly delivered: number;
  readonly receipts: Micros;
  readonly duplicates: number;
}

async function drain(options: BenchOptions, batch: number, services: Services, cleanup: Cleanup): Promise<Run> {
  const { submitWorkers, latencyMs, profile } = options;
  const messages = options.messages * (batch > 1 ? TIMES_IN_BATCHES : 1);
  say(`${batch} in a request: ${messages} messages`);
  const database = await services.database();
  const { pool } = database;
  const routeId = await furnish(pool, { maxBatch: batch, submitWorkers });
  const fleet = await startFleet(
    { database, redisUrl: services.redis.url, submitWorkers, latencyMs, profile },
    cleanup,
  );
  const books = new ProviderBooks(fleet.simulatorUrl);
  const intake = new Intake(pool, services.redis.url, cleanup);
  const lane = { routeId, messageClass: 'promotional' } as const;
  await intake.promotions(WARM_UP, batch > 1);
  await untilLeft(pool, 'promotional', LEAVE_WITHIN_MS);
  await durably(pool, (sql) => pauseLane(sql, lane, 'the queue is being filled'));
  await intake.promotions(messages, batch > 1);
  const first = (await books.summary()).accepted;

  const read = await reader(fleet, pool, services.redis.pid);
  const idle = await during(read, () => pause(IDLE_MS));
  const sending = await during(read, async () => {
    await durably(pool, (sql) => resumeLane(sql, lane));
    await untilLeft(pool, 'promotional', LEAVE_WITHIN_MS);
  });
  const receipts = await during(read, () => untilDelivered(pool, messages));
  const accepted = (await books.accepted(first)).map(({ atMs }) => atMs);
  const { duplicates } = await books.summary();
  const delivered = await deliveredOf(pool);
  await fleet.stop();

  const [from, to] = [Math.floor(accepted.length * FROM), Math.ceil(accepted.length * TO) - 1];
  return {
    batch,
    messages,
    rate: ((to - from) * 1_000) / ((accepted[to] ?? 0) - (accepted[from] ?? 0)),
    sending: less(sending, idle),
    delivered,
    receipts: less(receipts, idle),
    duplicates,
  };
}

interface Span {
  readonly ms: number;
  readonly micros: Micros;
}

async function reader(fleet: Fleet, pool: pg.Pool, redis: number | null): Promise<() => Micros> {
  const postmaster = await postmasterOf(pool);
  const of = (part: string) => (fleet.pids.get(part) ?? []).reduce((sum, pid) => sum + treeMicros(pid), 0);
  return () => {
    const { user, system } = process.cpuUsage();
    return {
      claim: of('claim'),
      submit: of('submit'),
      reconcile: of('reconcile'),
      Postgres: postmaster === null ? Number.NaN : treeMicros(postmaster),
      Redis: redis === null ? Number.NaN : treeMicros(redis),
      'gateway-sim': of('gateway-sim'),
      bench: user + system,
      host: hostMicros(),
    };
  };
}

async function during(read: () => Micros, work: () => Promise<void>): Promise<Span> {
  const before = read();
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  const after = read();
  return { ms, micros: mapped((part) => after[part] - before[part]) };
}

/** Without what the same parts take when there is nothing to do; what others do on this host is left as it is. */
function less(span: Span, idle: Span): Micros {
  return mapped((part) =>
    part === 'host' ? span.micros.host : Math.max(0, span.micros[part] - (idle.micros[part] * span.ms) / idle.ms),
  );
}

const mapped = (of: (part: Part | 'host') => number) =>
  Object.fromEntries([...PARTS, 'host' as const].map((part) => [part, of(part)])) as Micros;

function cells(micros: Micros, messages: number): number[] {
  const each = PARTS.map((part) => micros[part] / messages);
  const all = each.filter(Number.isFinite).reduce((sum, one) => sum + one, 0);
  return [...each, all, Math.max(0, micros.host / messages - all)].map((us) => Math.round(us));
}

async function untilDelivered(pool: pg.Pool, messages: number): Promise<void> {
  for (const until = performance.now() + RECEIPTS_WITHIN_MS; performance.now() < until; await pause(LOOK_AGAIN_MS))
    if ((await deliveredOf(pool)) >= messages) return;
  say(`not all receipts were there after ${RECEIPTS_WITHIN_MS / 1_000} s`);
}

async function deliveredOf(pool: pg.Pool): Promise<number> {
  const [row] = await rowsOf<{ n: number }>(
    pool,
    `select count(*)::integer as n from sendledger.outbound_message where message_class = 'promotional' and state = 'delivered'`,
  );
  return row?.n ?? 0;
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
