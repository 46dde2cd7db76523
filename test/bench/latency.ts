import { durably, pauseLane, resumeLane } from '@sendledger/core/ledger';
import type pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { startFleet } from './fleet.ts';
import { furnish } from './house.ts';
import { atPace, type Committed, Intake } from './intake.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { graphileSender } from './peers/graphile-sender.ts';
import { pgBossSender } from './peers/pg-boss-sender.ts';
import { formOf, type SenderTask, type SendingPeer } from './peers/sender.ts';
import { spreadOf } from './percentiles.ts';
import { ProviderBooks } from './provider-books.ts';
import { type BenchResult, say } from './report.ts';
import { startServices } from './services.ts';
import { untilLeft } from './stages.ts';

const WARM_UP = 10;
const ROWS_A_TRANSACTION = 1_000;
/** Connections of one of our submit workers, and so requests that it has on the wire. */
const IN_FLIGHT_A_WORKER = 32;
const SETTLE_MS = 1_500;
const ARRIVE_WITHIN_MS = 30_000;
const LOOK_AGAIN_MS = 500;

/** One that sends codes, with and without promotions beside them. */
interface Contestant {
  readonly name: string;
  code(): Promise<Committed>;
  queuePromotions(count: number): Promise<void>;
  /** Makes ready for codes alone, or for codes beside promotions, and answers how to leave that again. */
  begin(promotions: boolean): Promise<() => Promise<void>>;
  readonly idle: Committed[];
  readonly loaded: Committed[];
  /** Messages of its that the provider took while it was loaded, and for how long that was. */
  drained: { messages: number; ms: number };
}

/**
 * From the return of COMMIT to the whole request at the provider, ours beside other queues that send it over the same HTTP to the same
 * provider. Idle, codes of all
 * come in turns; under load, one after the other drains its promotions while its codes come, in rounds.
 */
export async function benchLatency(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const { everyMs, seconds, backlog, batch, submitWorkers, latencyMs, rounds } = options;
  const loadBefore = loadNow();
  const services = await startServices(cleanup, 'any', options);
  const database = await services.database();
  const { pool } = database;
  const routeId = await furnish(pool, { maxBatch: batch, submitWorkers });
  const redisUrl = services.redis.url;
  const fleet = await startFleet({ database, redisUrl, submitWorkers, latencyMs, profile: options.profile }, cleanup);
  const books = new ProviderBooks(fleet.simulatorUrl);
  const intake = new Intake(pool, redisUrl, cleanup);
  const lane = { routeId, messageClass: 'promotional' } as const;
  const us: Contestant = {
    name: 'sendledger',
    code: () => intake.code(),
    queuePromotions: (count) => intake.promotions(count, batch > 1),
    begin: async (promotions) => {
      if (!promotions) return async () => undefined;
      await durably(pool, (sql) => resumeLane(sql, lane));
      return async () => {
        await durably(pool, (sql) => pauseLane(sql, lane, 'the others have their turn'));
      };
    },
    ...nothingYet(),
  };
  const peers = [await graphileSender(database.url, cleanup), await pgBossSender(database.url, cleanup)];
  for (const peer of peers) cleanup.add(`stop ${peer.name}`, () => peer.stop());
  const task = {
    databaseUrl: database.url,
    simulatorUrl: fleet.simulatorUrl,
    inFlight: IN_FLIGHT_A_WORKER * submitWorkers,
  };
  const all = [us, ...peers.map((peer, n) => contestantOf(peer, pool, task, n))];

  await intake.promotions(200, batch > 1);
  await untilLeft(pool, 'promotional', 120_000);
  await pool.query('analyze');
  const codes = Math.ceil((seconds * 1_000) / everyMs);
  say(`${codes} codes of each, nothing else`);
  const leave = await Promise.all(all.map((one) => one.begin(false)));
  for (const one of all) await atPace(everyMs, WARM_UP, () => one.code());
  // Each at its own moment, a third of the pause after the one before.
  const idleFrom = (await books.summary()).accepted;
  const turns = all.map(async (one, n) => {
    await pause((n * everyMs) / all.length);
    one.idle.push(...(await atPace(everyMs, codes, () => one.code())));
  });
  await Promise.all(turns);
  await untilArrived(
    books,
    idleFrom,
    all.flatMap((one) => one.idle),
  );
  for (const end of leave) await end();
  // Only now: whoever passes over a backlog that is not its task at each look is not idle.
  await durably(pool, (sql) => pauseLane(sql, lane, 'the backlog is being queued'));
  for (const one of all) {
    say(`${one.name}: queueing ${backlog} promotions`);
    await one.queuePromotions(backlog);
  }
  await pool.query('analyze');
  for (let round = 0; round < rounds; round++)
    for (const one of all) {
      say(`round ${round + 1}: codes of ${one.name} beside its promotions`);
      // Who has no turn takes no processor: ours would read reports of what it sent before.
      if (one !== us) fleet.hold();
      const end = await one.begin(true);
      await atPace(everyMs, WARM_UP, () => one.code());
      const before = { accepted: (await books.summary()).accepted, at: performance.now() };
      const sent = await atPace(everyMs, Math.ceil(codes / rounds), () => one.code());
      one.loaded.push(...sent);
      one.drained.messages += (await books.summary()).accepted - before.accepted;
      one.drained.ms += performance.now() - before.at;
      await untilArrived(books, before.accepted, sent);
      await end();
      if (one !== us) fleet.goOn();
      await pause(SETTLE_MS);
    }
  await untilLeft(pool, 'otp', 120_000);
  const arrivals = new Map((await books.accepted()).map(({ mobile, atMs }) => [mobile, [atMs]]));
  const { duplicates } = await books.summary();
  const machine = await machineOf(pool, redisUrl, loadBefore);
  await fleet.stop();

  const missing = (committed: readonly Committed[]) => committed.filter(({ mobile }) => !arrivals.has(mobile)).length;
  const spread = (committed: readonly Committed[]) =>
    spreadOf(committed.flatMap(({ mobile, atMs }) => (arrivals.get(mobile) ?? []).map((arrived) => arrived - atMs)));
  const spreads = all.map((one) => ({
    name: one.name,
    idle: spread(one.idle),
    loaded: spread(one.loaded),
    drained: one.drained,
    missing: missing([...one.idle, ...one.loaded]),
  }));
  const [ours, graphile, boss] = spreads;
  if (ours === undefined || graphile === undefined || boss === undefined) throw new Error('a contestant is missing');
  return {
    bench: 'latency',
    at: new Date().toISOString(),
    machine,
    loadAfter: loadNow(),
    options: { everyMs, seconds, rounds, backlog, batch, submitWorkers, latencyMs },
    tables: [
      {
        title: 'ms from the return of COMMIT to the whole request at the provider',
        head: [
          '',
          'codes',
          'idle p50',
          'p99',
          'max',
          'beside promotions p50',
          'p99',
          'max',
          'drained a second',
          'never arrived',
        ],
        rows: spreads.map(({ name, idle, loaded, drained, missing }) => [
          name,
          idle.samples + loaded.samples,
          idle.p50,
          idle.p99,
          idle.max,
          loaded.p50,
          loaded.p99,
          loaded.max,
          Math.round((drained.messages * 1_000) / drained.ms),
          missing,
        ]),
      },
      {
        title: 'Ratios',
        head: ['', 'idle p50', 'p99', 'beside promotions p50', 'p99'],
        rows: [graphile, boss].map((peer) => [
          `ours / ${peer.name}`,
          ours.idle.p50 / peer.idle.p50,
          ours.idle.p99 / peer.idle.p99,
          ours.loaded.p50 / peer.loaded.p50,
          ours.loaded.p99 / peer.loaded.p99,
        ]),
      },
    ],
    bars: [
      { what: 'p50 beside promotions, ms', measured: ours.loaded.p50, atMost: 15 },
      { what: 'p50 beside promotions, times idle', measured: ours.loaded.p50 / ours.idle.p50, atMost: 3 },
      { what: 'p99 beside promotions, ms', measured: ours.loaded.p99, atMost: 60 },
      { what: 'p99 beside promotions, times idle', measured: ours.loaded.p99 / ours.idle.p99, atMost: 3 },
      {
        what: 'p99 beside promotions, times that of graphile-worker beside its own',
        measured: ours.loaded.p99 / graphile.loaded.p99,
        atMost: 2.5,
      },
      { what: 'never arrived', measured: ours.missing, atMost: 0 },
      { what: 'sent twice', measured: duplicates, atMost: 0 },
    ],
  };
}

/** A worker is not ended while it has a code in its hands; what has not come after a while never will. */
async function untilArrived(books: ProviderBooks, after: number, committed: readonly Committed[]): Promise<void> {
  for (const until = performance.now() + ARRIVE_WITHIN_MS; performance.now() < until; await pause(LOOK_AGAIN_MS)) {
    const arrived = new Set((await books.accepted(after)).map(({ mobile }) => mobile));
    if (committed.every(({ mobile }) => arrived.has(mobile))) return;
  }
}

const nothingYet = () => ({ idle: [], loaded: [], drained: { messages: 0, ms: 0 } });

function contestantOf(peer: SendingPeer, pool: pg.Pool, task: Omit<SenderTask, 'promotions'>, n: number): Contestant {
  let next = 0;
  // Numbers of its own, so that the provider's books tell who sent.
  const mobile = () => `919${6 - n}${String(10_000_000 + next++)}`;
  const inTransaction = async (work: (tx: pg.PoolClient) => Promise<void>) => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      await work(client);
      await client.query('commit');
      return Date.now();
    } finally {
      client.release();
    }
  };
  return {
    name: peer.name,
    code: async () => {
      const to = mobile();
      const atMs = await inTransaction((tx) => peer.enqueueCode(tx, formOf(to, `Your code is ${100_000 + next}`)));
      return { mobile: to, atMs };
    },
    queuePromotions: async (count) => {
      for (let done = 0; done < count; done += ROWS_A_TRANSACTION) {
        const forms = Array.from({ length: Math.min(ROWS_A_TRANSACTION, count - done) }, () => {
          const to = mobile();
          return formOf(to, `Sale today, your voucher is ${to.slice(-8)}`);
        });
        await inTransaction((tx) => peer.enqueuePromotions(tx, forms));
      }
    },
    begin: (promotions) => peer.startWorker({ ...task, promotions }),
    ...nothingYet(),
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
