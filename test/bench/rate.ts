import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { startFleet } from './fleet.ts';
import { furnish } from './house.ts';
import { Intake } from './intake.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { ProviderBooks } from './provider-books.ts';
import { type BenchResult, say } from './report.ts';
import { startServices } from './services.ts';

const BURST_SECONDS = 1;
const FILLED = 0.95;
const LOOK_AGAIN_MS = 100;

/** The rate of a route over four processes, as the provider counts it: never crossed, and used. Then without Redis. */
export async function benchRate(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const { rate, seconds, submitWorkers, latencyMs } = options;
  const loadBefore = loadNow();
  const services = await startServices(cleanup, 'private', options);
  const database = await services.database();
  const machine = await machineOf(database.pool, services.redis.url, loadBefore);
  const bounds = { rate: String(rate), burstSeconds: String(BURST_SECONDS) };
  await furnish(database.pool, { maxBatch: 1, submitWorkers, bounds });
  const redisUrl = services.redis.url;
  const fleet = await startFleet({ database, redisUrl, submitWorkers, latencyMs, profile: options.profile }, cleanup);
  const books = new ProviderBooks(fleet.simulatorUrl);
  // More than can leave in both phases: a queue that runs dry would look like a limit that is kept.
  await new Intake(database.pool, redisUrl, cleanup).promotions(rate * (seconds * 2 + 30), false);

  const startMs = await firstAt(books);
  say(`${seconds} s with Redis`);
  await until(startMs + seconds * 1_000);
  await services.redis.kill();
  const killedMs = Date.now();
  say(`${seconds} s without`);
  await until(killedMs + seconds * 1_000);
  const all = await books.accepted();
  const { duplicates } = await books.summary();
  await fleet.stop();

  const at = all.map(({ atMs }) => atMs);
  const phases = [
    { name: 'with Redis', from: startMs, to: startMs + seconds * 1_000 },
    { name: 'without Redis', from: killedMs, to: killedMs + seconds * 1_000 },
  ].map((phase) => {
    const within = at.filter((ms) => ms >= phase.from && ms < phase.to);
    const before = at.findLast((ms) => ms < phase.from) ?? phase.from;
    return {
      ...phase,
      sent: within.length,
      share: within.length / (rate * seconds),
      // Every window that begins with a request of the phase, the one that reaches into the next phase included.
      busiest: busiestSecond(at, phase.from, phase.to),
      longestPauseMs: longestPause([before, ...within]),
    };
  });
  const allowed = rate + rate * BURST_SECONDS;
  return {
    bench: options.bench,
    at: new Date().toISOString(),
    machine,
    loadAfter: loadNow(),
    options: { ...options },
    tables: [
      {
        title: `${rate} requests a second, burst of ${BURST_SECONDS} s, ${submitWorkers} submit workers, ${seconds} s each`,
        head: ['phase', 'requests', 'share of the limit', 'busiest second', 'allowed', 'longest pause, ms'],
        rows: phases.map((p) => [
          p.name,
          p.sent,
          `${(p.share * 100).toFixed(1)} %`,
          p.busiest,
          allowed,
          p.longestPauseMs,
        ]),
      },
    ],
    bars: [
      ...phases.map((p) => ({ what: `${p.name}: busiest second`, measured: p.busiest, atMost: allowed })),
      { what: 'with Redis: share of the limit', measured: phases[0]?.share ?? 0, atLeast: FILLED },
      { what: 'sent twice', measured: duplicates, atMost: 0 },
    ],
  };
}

async function firstAt(books: ProviderBooks): Promise<number> {
  for (;;) {
    const [first] = await books.accepted();
    if (first !== undefined) return first.atMs;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

const until = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms - Date.now())));

/** The most requests within any second that begins in this span, by the provider's own times. */
function busiestSecond(at: readonly number[], from: number, to: number): number {
  let most = 0;
  let end = 0;
  for (const [start, ms] of at.entries()) {
    while (end < at.length && (at[end] ?? 0) < ms + 1_000) end++;
    if (ms >= from && ms < to) most = Math.max(most, end - start);
  }
  return most;
}

const longestPause = (at: readonly number[]) => Math.max(0, ...at.slice(1).map((ms, i) => ms - (at[i] ?? ms)));
