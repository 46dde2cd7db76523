import { durably, pauseLane, resumeLane, rowsOf } from '@sendledger/core/ledger';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { startFleet } from './fleet.ts';
import { furnish } from './house.ts';
import { atPace, type Committed, Intake } from './intake.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { type Spread, spreadOf } from './percentiles.ts';
import { ProviderBooks } from './provider-books.ts';
import { type Bar, type BenchResult, say, type Table } from './report.ts';
import { type Services, startServices } from './services.ts';
import { untilLeft, type Way, waysOf } from './stages.ts';

/** The bar of the plan: what a campaign may cost a code. */
const P50_MS = 15;
const P99_MS = 60;
const TIMES_IDLE = 3;

const WARM_UP = 10;
const WARM_UP_EVERY_MS = 200;
const LEAVE_WITHIN_MS = 120_000;

/** FC-42: tenant A queues a campaign, tenant B sends a code a second. */
export async function benchOtpUnderBacklog(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const loadBefore = loadNow();
  const services = await startServices(cleanup, 'any', options);
  const variants = options.variant === 'both' ? (['open', 'limited'] as const) : [options.variant];
  const tables: Table[] = [];
  const bars: Bar[] = [];
  for (const variant of variants) {
    const measured = await measure(options, variant, services, cleanup);
    tables.push(measured.table);
    bars.push(...measured.bars);
  }
  const { pool } = await services.database();
  return {
    bench: options.bench,
    at: new Date().toISOString(),
    machine: await machineOf(pool, services.redis.url, loadBefore),
    loadAfter: loadNow(),
    options: { ...options },
    tables,
    bars,
  };
}

async function measure(
  options: BenchOptions,
  variant: 'open' | 'limited',
  services: Services,
  cleanup: Cleanup,
): Promise<{ table: Table; bars: Bar[] }> {
  const { submitWorkers, latencyMs, everyMs, seconds, backlog, batch, rate } = options;
  const title = variant === 'open' ? 'no rate limit' : `${rate} requests a second`;
  say(`${title}: starting`);
  const database = await services.database();
  const bounds = variant === 'limited' ? { rate: String(rate) } : {};
  const routeId = await furnish(database.pool, { maxBatch: batch, submitWorkers, bounds });
  const campaign = { routeId, messageClass: 'promotional' } as const;
  const redisUrl = services.redis.url;
  const fleet = await startFleet({ database, redisUrl, submitWorkers, latencyMs, profile: options.profile }, cleanup);
  const books = new ProviderBooks(fleet.simulatorUrl);
  const intake = new Intake(database.pool, redisUrl, cleanup);
  const codes = Math.ceil((seconds * 1_000) / everyMs);
  const send = () => atPace(everyMs, codes, () => intake.code());

  // Plans are made and code is compiled by the first few; those are nobody's measure. Promotions warm up their lane too.
  await intake.promotions(200, batch > 1);
  await atPace(WARM_UP_EVERY_MS, WARM_UP, () => intake.code());
  await untilLeft(database.pool, 'promotional', LEAVE_WITHIN_MS);

  say(`${title}: ${codes} codes, nothing else`);
  const idle = await send();
  await untilLeft(database.pool, 'otp', LEAVE_WITHIN_MS);

  say(`${title}: queueing ${backlog} promotions`);
  // All of it first: a campaign in large requests leaves faster than it is written.
  await durably(database.pool, (sql) => pauseLane(sql, campaign, 'the backlog is being queued'));
  await intake.promotions(backlog, batch > 1);
  await durably(database.pool, (sql) => resumeLane(sql, campaign));
  say(`${title}: ${codes} codes under the backlog`);
  const before = { accepted: (await books.summary()).accepted, atMs: Date.now() };
  const loaded = await send();
  const after = { accepted: (await books.summary()).accepted, atMs: Date.now() };
  const [waiting] = await rowsOf<{ rows: number }>(
    database.pool,
    `select count(*)::integer as rows from sendledger.outbound_message
     where message_class = 'promotional' and state in ('pending', 'retry', 'claimed')`,
  );
  await untilLeft(database.pool, 'otp', LEAVE_WITHIN_MS);
  const accepted = await books.accepted();
  const { duplicates } = await books.summary();
  const waysUnder = async (committed: readonly Committed[]) => waysOf(database.pool, committed, accepted);
  const alone = await waysUnder(idle);
  // Codes sent when the queue had run dry tell nothing about it.
  const isCode = new Set([...idle, ...loaded].map(({ mobile }) => mobile));
  const lastPromotion = accepted.findLast(({ mobile }) => !isCode.has(mobile))?.atMs ?? 0;
  const under = await waysUnder(loaded.filter(({ atMs }) => (waiting?.rows ?? 0) > 0 || atMs < lastPromotion));
  await fleet.stop();

  const untilMs = waiting?.rows === 0 ? lastPromotion : after.atMs;
  const drained = (after.accepted - before.accepted) / ((untilMs - before.atMs) / 1_000);
  const wireIdle = spreadOf(alone.map((way) => way.wire));
  const wireUnder = spreadOf(under.map((way) => way.wire));
  return {
    table: {
      title: `${title}; ${Math.round(drained)} messages a second drained, ${waiting?.rows} promotions left at the end`,
      head: ['ms from the return of COMMIT', 'codes', 'p50', 'p99', 'max'],
      rows: [
        ...rows('queue empty', alone),
        ...rows('under the backlog', under),
        ['ratio', '', wireUnder.p50 / wireIdle.p50, wireUnder.p99 / wireIdle.p99, wireUnder.max / wireIdle.max],
      ],
    },
    bars: [
      { what: `${title}: p50 under the backlog, ms`, measured: wireUnder.p50, atMost: P50_MS },
      { what: `${title}: p50, times the idle one`, measured: wireUnder.p50 / wireIdle.p50, atMost: TIMES_IDLE },
      { what: `${title}: p99 under the backlog, ms`, measured: wireUnder.p99, atMost: P99_MS },
      { what: `${title}: p99, times the idle one`, measured: wireUnder.p99 / wireIdle.p99, atMost: TIMES_IDLE },
      { what: `${title}: codes measured under the backlog`, measured: under.length, atLeast: Math.min(codes, 20) },
      { what: `${title}: sent twice`, measured: duplicates, atMost: 0 },
    ],
  };
}

function rows(name: string, ways: readonly Way[]): (string | number)[][] {
  const row = (what: string, { samples, p50, p99, max }: Spread) => [`${name}: ${what}`, samples, p50, p99, max];
  return [
    row('claimed', spreadOf(ways.map((way) => way.claimed))),
    row('marked', spreadOf(ways.map((way) => way.marked))),
    row('at the provider', spreadOf(ways.map((way) => way.wire))),
  ];
}
