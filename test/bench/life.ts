import { randomUUID } from 'node:crypto';
import {
  applyOutcomes,
  applyReceipts,
  claim,
  durably,
  type MarkedSubmission,
  markNext,
  prepared,
  RECEIPTS_AT_ONCE,
  type ReceiptRecord,
  recordReceipts,
  registerWorker,
  rowsOf,
  type SubmissionOutcome,
  WORKER_SESSION,
} from '@sendledger/core/ledger';
import { createProducer, type Producer } from '@sendledger/producer';
import pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { type CpuReader, cpuMicros } from './cpu.ts';
import { furnish } from './house.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { startGraphile } from './peers/graphile.ts';
import { type Peer, payloadOf, textOf } from './peers/peer.ts';
import { startPgBoss } from './peers/pg-boss.ts';
import { median, ratioOf } from './ratios.ts';
import { type BenchResult, say } from './report.ts';
import { type Database, ENVIRONMENT, startServices } from './services.ts';

/** Messages of one flight through a stage. */
const FLIGHT = 500;
const LEASE_MS = 600_000;

export interface Life {
  /** Messages a second, stages one after the other. */
  readonly rate: number;
  /** Microseconds of processor time a message, ours and the database's. */
  readonly cpu: number;
  /** Rows a second. */
  readonly stages: Readonly<Record<string, number>>;
  /** The processor time, by stage. */
  readonly cpuOf?: Readonly<Record<string, number>>;
}

/**
 * The whole life of a message, durable at each step: enqueued, claimed, marked, outcome written, receipt stored and applied. No
 * HTTP: what is compared is the ledger's work with a queue's, which is a job inserted, worked off and completed.
 */
export async function benchLife(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const loadBefore = loadNow();
  const services = await startServices(cleanup, 'any', options);
  const database = await services.database();
  const cpu = await cpuMicros(database.pool);
  const peers = [await startPgBoss(database.url), await startGraphile(database.url)];
  for (const peer of peers) cleanup.add(`stop ${peer.name}`, () => peer.stop());
  const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN' });
  cleanup.add('close the producer', () => producer.close());

  const results = new Map<string, Life[]>();
  const note = (name: string, life: Life) => {
    results.set(name, [...(results.get(name) ?? []), life]);
    say(`${name}: ${Math.round(life.rate)}/s, ${Math.round(life.cpu)} us; ${stagesOf(life)}`);
  };
  for (let round = -1; round < options.rounds; round++) {
    const count = round < 0 ? 2_000 : options.messages;
    const lives: [string, () => Promise<Life>][] = [
      ['transactional, one lane', () => ours(services.database, producer, cpu, { count, lanes: 1, maxBatch: 1 })],
      ['transactional, two lanes', () => ours(services.database, producer, cpu, { count, lanes: 2, maxBatch: 1 })],
      ['campaign, two lanes', () => ours(services.database, producer, cpu, { count, lanes: 2, maxBatch: 500 })],
      ...peers.map((peer): [string, () => Promise<Life>] => [peer.name, () => theirs(peer, database, cpu, count)]),
    ];
    for (const [name, run] of lives) {
      const life = await run();
      if (round >= 0) note(name, life);
    }
  }

  const rates = (name: string) => (results.get(name) ?? []).map((life) => life.rate);
  const cpus = (name: string) => (results.get(name) ?? []).map((life) => life.cpu);
  const ratio = (name: string, peer: string) => ratioOf(rates(name), rates(peer));
  const names = [...results.keys()];
  return {
    bench: 'life',
    at: new Date().toISOString(),
    machine: await machineOf(database.pool, services.redis.url, loadBefore),
    loadAfter: loadNow(),
    options: { rounds: options.rounds, messages: options.messages },
    tables: [
      {
        title: 'Messages (jobs) a second through all steps, and processor time of one, medians',
        head: ['', 'a second', 'us of processor', 'rate / pg-boss', 'rate / graphile-worker'],
        rows: names.map((name) => [
          name,
          Math.round(median(rates(name))),
          Math.round(median(cpus(name))),
          ratio(name, 'pg-boss'),
          ratio(name, 'graphile-worker'),
        ]),
      },
      {
        title: 'Rows a second in each step, medians',
        head: ['', ...STAGES],
        rows: names
          .filter((name) => name.includes('lane'))
          .map((name) => [
            name,
            ...STAGES.map((stage) =>
              Math.round(median((results.get(name) ?? []).map((life) => life.stages[stage] ?? 0))),
            ),
          ]),
      },
    ],
    bars: [
      {
        what: 'transactional, two lanes, over pg-boss',
        measured: ratio('transactional, two lanes', 'pg-boss'),
        atLeast: 0.8,
      },
      {
        what: 'transactional, one lane, over pg-boss',
        measured: ratio('transactional, one lane', 'pg-boss'),
        atLeast: 0.5,
      },
      {
        what: 'transactional, two lanes, over graphile-worker',
        measured: ratio('transactional, two lanes', 'graphile-worker'),
        atLeast: 0.5,
      },
      {
        what: 'transactional, one lane, over graphile-worker',
        measured: ratio('transactional, one lane', 'graphile-worker'),
        atLeast: 0.3,
      },
      { what: 'campaign, two lanes, over pg-boss', measured: ratio('campaign, two lanes', 'pg-boss'), atLeast: 1 },
      {
        what: 'campaign, two lanes, over graphile-worker',
        measured: ratio('campaign, two lanes', 'graphile-worker'),
        atLeast: 0.65,
      },
      {
        what: 'processor time of a message (two lanes), over pg-boss',
        measured: ratioOf(cpus('transactional, two lanes'), cpus('pg-boss')),
        atMost: 1.4,
      },
      {
        what: 'processor time of a message (two lanes), over graphile-worker',
        measured: ratioOf(cpus('transactional, two lanes'), cpus('graphile-worker')),
        atMost: 2.8,
      },
    ],
  };
}

const STAGES = ['enqueue', 'claim', 'mark', 'outcome', 'receipt'] as const;
type Stage = (typeof STAGES)[number];

const stagesOf = (life: Life) =>
  Object.entries(life.stages)
    .map(([stage, rate]) => `${stage} ${Math.round(rate)}`)
    .join(', ');

/** One of our lanes: a route of its own, so that lanes wait for nothing of each other but the disk. */
interface Lane {
  readonly pool: pg.Pool;
  readonly routeId: string;
  readonly route: string;
  readonly workerId: string;
}

export async function ours(
  database: () => Promise<Database>,
  producer: Producer,
  cpu: CpuReader,
  wanted: { count: number; lanes: number; maxBatch: number },
): Promise<Life> {
  const db = await database();
  // As a worker connects: plans made once.
  const pool = new pg.Pool({
    connectionString: db.url,
    max: 8,
    onConnect: async (client: pg.ClientBase) => {
      await client.query(WORKER_SESSION);
    },
  });
  pool.on('error', () => undefined);
  const lanes: Lane[] = [];
  for (let n = 0; n < wanted.lanes; n++) {
    const route = `route-${n}`;
    const routeId = await furnish(db.pool, { maxBatch: wanted.maxBatch, submitWorkers: 1, name: route });
    // Bounds above the batch: what is measured is the statements.
    await db.pool.query(
      `update sendledger.route set max_in_flight_requests = 100000, max_in_flight_rows = 1000000, max_open_submissions = 100000 where id = $1`,
      [routeId],
    );
    lanes.push({ pool, routeId, route, workerId: (await registerWorker(pool, 'submit', randomUUID())).id });
  }
  const each = Math.ceil(wanted.count / wanted.lanes);
  const seconds: Partial<Record<Stage, number>> = {};
  /** Microseconds of processor time a message. */
  const used: Partial<Record<Stage, number>> = {};
  const marked: MarkedSubmission[][] = lanes.map(() => []);
  const before = await cpu();
  const stage = async (name: Stage, work: (lane: Lane, n: number) => Promise<void>) => {
    const began = performance.now();
    const usedBefore = await cpu();
    await Promise.all(lanes.map(work));
    seconds[name] = (performance.now() - began) / 1_000;
    used[name] = ((await cpu()) - usedBefore) / (each * wanted.lanes);
  };
  await stage('enqueue', (lane, n) => enqueueAll(lane, producer, each, n));
  await stage('claim', async (lane) => {
    const request = {
      routeId: lane.routeId,
      messageClass: 'transactional',
      leaseMs: LEASE_MS,
      workerId: lane.workerId,
    } as const;
    while ((await claim(lane.pool, { ...request, limit: FLIGHT })).rows > 0);
  });
  await stage('mark', async (lane, n) => {
    const request = {
      routeId: lane.routeId,
      messageClass: 'transactional',
      limit: wanted.maxBatch > 1 ? 4 : FLIGHT,
      leaseMs: LEASE_MS,
      workerId: lane.workerId,
      environment: ENVIRONMENT,
    } as const;
    for (let got = await markNext(lane.pool, request); got.length > 0; got = await markNext(lane.pool, request))
      marked[n]?.push(...got);
  });
  await stage('outcome', async (lane, n) => {
    for (const flight of flightsOf(marked[n] ?? []))
      await durably(lane.pool, (sql) => applyOutcomes(sql, flight.map(accepted)));
  });
  await stage('receipt', async (lane, n) => {
    const origin = { routeId: lane.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' } as const;
    const records = (marked[n] ?? []).flatMap(delivered);
    for (let at = 0; at < records.length; at += RECEIPTS_AT_ONCE) {
      const { hashes } = await durably(lane.pool, (sql) =>
        recordReceipts(sql, origin, records.slice(at, at + RECEIPTS_AT_ONCE)),
      );
      await durably(lane.pool, (sql) => applyReceipts(sql, origin, hashes));
    }
  });
  const total = Object.values(seconds).reduce((sum, one) => sum + one, 0);
  const totalUsed = (await cpu()) - before;
  const [row] = await rowsOf<{ n: number }>(
    prepared(pool),
    `select count(*)::integer as n from sendledger.outbound_message where state = 'delivered'`,
  );
  const count = each * wanted.lanes;
  if (row?.n !== count) throw new Error(`${row?.n} of ${count} messages were delivered`);
  await pool.end();
  return {
    rate: count / total,
    cpu: totalUsed / count,
    cpuOf: used,
    stages: Object.fromEntries(Object.entries(seconds).map(([name, s]) => [name, count / s])),
  };
}

async function enqueueAll(lane: Lane, producer: Producer, count: number, n: number): Promise<void> {
  const run = randomUUID();
  const client = await lane.pool.connect();
  for (let at = 0; at < count; at += 1_000) {
    await client.query('begin');
    await producer.enqueue(
      client,
      Array.from({ length: Math.min(1_000, count - at) }, (_, i) => ({
        class: 'transactional' as const,
        to: `+919${n}${String(10_000_000 + at + i)}`,
        event: { type: 'order', id: `${run}-${at + i}` },
        body: textOf(0),
        route: lane.route,
      })),
    );
    await client.query('commit');
  }
  client.release();
}

function* flightsOf(submissions: readonly MarkedSubmission[]): Generator<readonly MarkedSubmission[]> {
  let flight: MarkedSubmission[] = [];
  let rows = 0;
  for (const submission of submissions) {
    flight.push(submission);
    rows += submission.size;
    if (rows >= FLIGHT) {
      yield flight;
      flight = [];
      rows = 0;
    }
  }
  if (flight.length > 0) yield flight;
}

function accepted(s: MarkedSubmission): SubmissionOutcome {
  return {
    id: s.id,
    createdAt: s.createdAt,
    leaseToken: s.leaseToken,
    state: 'accepted',
    reason: 'accepted',
    proof: null,
    providerTxnId: `6${s.id.padStart(18, '0')}`,
    statusCode: '200',
    httpStatus: 200,
    rawReply: Buffer.from('{"status":"success","statusCode":"200","reason":"success"}'),
    pollInMs: 60_000,
    rows: s.rows.map((row) => ({
      id: row.id,
      createdAt: row.createdAt,
      to: 'submitted',
      reason: null,
      cause: 'success',
      countsAsAttempt: true,
      retryInMs: null,
    })),
  };
}

function delivered(s: MarkedSubmission): ReceiptRecord[] {
  return s.rows.map((row) => ({
    providerTxnId: `6${s.id.padStart(18, '0')}`,
    providerMessageId: `7${row.id.padStart(18, '0')}`,
    recipient: row.recipient,
    senderId: row.senderId,
    statusWord: 'DELIVERED',
    status: 'delivered',
    cause: null,
    causeClass: 'none',
    submittedAt: s.requestedAt,
    deliveredAt: new Date(),
    evidence: { status: 'DELIVERED', mobileNo: row.recipient },
  }));
}

async function theirs(peer: Peer, database: Database, cpu: CpuReader, count: number): Promise<Life> {
  const before = await cpu();
  const client = await database.pool.connect();
  const began = performance.now();
  for (let at = 0; at < count; at += 1_000) {
    await client.query('begin');
    await peer.enqueueMany(
      client,
      Array.from({ length: Math.min(1_000, count - at) }, (_, i) => payloadOf(at + i)),
    );
    await client.query('commit');
  }
  const between = performance.now();
  client.release();
  await peer.drain(count);
  const ended = performance.now();
  return {
    rate: count / ((ended - began) / 1_000),
    cpu: ((await cpu()) - before) / count,
    stages: { enqueue: count / ((between - began) / 1_000), work: count / ((ended - between) / 1_000) },
  };
}
