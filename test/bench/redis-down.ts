import { rowsOf } from '@sendledger/core/ledger';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { startFleet } from './fleet.ts';
import { furnish } from './house.ts';
import { atPace, type Committed, Intake } from './intake.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { spreadOf } from './percentiles.ts';
import { ProviderBooks } from './provider-books.ts';
import { type BenchResult, say } from './report.ts';
import { startServices } from './services.ts';
import { untilLeft, waysOf } from './stages.ts';

/** A code every so often beside the orders: a lane that is mostly empty is the one whose poll has backed off. */
const CODE_EVERY_MS = 1_700;
const WARM_UP = 40;
const LEAVE_WITHIN_MS = 120_000;
/** Two polls of one second, the claim's and the submit's, and as much again for what they do. */
const P99_WITHOUT_REDIS_MS = 4_000;

interface Phase {
  readonly name: string;
  readonly orders: readonly Committed[];
  readonly codes: readonly Committed[];
}

/** FC-17: the applications go on taking orders while Redis is down. Nothing is lost or sent twice; what it costs is latency. */
export async function benchRedisDown(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const { submitWorkers, latencyMs, seconds, outageSeconds, intakePerSecond } = options;
  const loadBefore = loadNow();
  const services = await startServices(cleanup, 'private', options);
  const database = await services.database();
  const machine = await machineOf(database.pool, services.redis.url, loadBefore);
  await furnish(database.pool, { maxBatch: 1, submitWorkers });
  const redisUrl = services.redis.url;
  const fleet = await startFleet({ database, redisUrl, submitWorkers, latencyMs, profile: options.profile }, cleanup);
  const books = new ProviderBooks(fleet.simulatorUrl);
  const intake = new Intake(database.pool, redisUrl, cleanup);
  const everyMs = 1_000 / intakePerSecond;

  const phase = async (name: string, forSeconds: number): Promise<Phase> => {
    say(`${name}: ${forSeconds} s`);
    const [orders, codes] = await Promise.all([
      atPace(everyMs, Math.round(forSeconds * intakePerSecond), () => intake.order()),
      atPace(CODE_EVERY_MS, Math.floor((forSeconds * 1_000) / CODE_EVERY_MS), () => intake.code()),
    ]);
    return { name, orders, codes };
  };

  await atPace(everyMs, WARM_UP, () => intake.order());
  await atPace(200, 10, () => intake.code());
  const phases = [await phase('before', seconds)];
  await services.redis.kill();
  phases.push(await phase('Redis down', outageSeconds));
  await services.redis.restart();
  phases.push(await phase('after', seconds));
  await Promise.all(['transactional', 'otp'].map((name) => untilLeft(database.pool, name, LEAVE_WITHIN_MS)));

  const accepted = await books.accepted();
  const { duplicates } = await books.summary();
  const states = await rowsOf<{ state: string; rows: number }>(
    database.pool,
    'select state::text, count(*)::integer as rows from sendledger.outbound_message group by 1',
  );
  await fleet.stop();
  const rowsInAll = states.reduce((sum, { rows }) => sum + rows, 0);
  const gone = states.filter(({ state }) => ['submitted', 'delivered'].includes(state));

  const lag = async (committed: readonly Committed[]) =>
    spreadOf((await waysOf(database.pool, committed, accepted)).map(({ wire }) => wire));
  const lags = [];
  for (const { name, orders, codes } of phases) lags.push({ name, orders: await lag(orders), codes: await lag(codes) });
  const down = lags[1];
  return {
    bench: options.bench,
    at: new Date().toISOString(),
    machine,
    loadAfter: loadNow(),
    options: { ...options },
    tables: [
      {
        title: `ms from the return of COMMIT to the provider; ${intakePerSecond} orders a second, a code every ${CODE_EVERY_MS} ms`,
        head: ['phase', 'messages', 'p50', 'p99', 'max'],
        rows: lags.flatMap(({ name, orders, codes }) => [
          [`${name}: orders`, orders.samples, orders.p50, orders.p99, orders.max],
          [`${name}: codes`, codes.samples, codes.p50, codes.p99, codes.max],
        ]),
      },
    ],
    bars: [
      {
        what: 'rows that were not submitted',
        measured: rowsInAll - gone.reduce((sum, { rows }) => sum + rows, 0),
        atMost: 0,
      },
      { what: 'messages at the provider that are no row', measured: accepted.length - rowsInAll, atMost: 0 },
      { what: 'sent twice', measured: duplicates, atMost: 0 },
      { what: 'Redis down: p99 of the orders, ms', measured: down?.orders.p99 ?? 0, atMost: P99_WITHOUT_REDIS_MS },
      { what: 'Redis down: p99 of the codes, ms', measured: down?.codes.p99 ?? 0, atMost: P99_WITHOUT_REDIS_MS },
    ],
  };
}
