import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultName } from '../../apps/gateway-sim/src/fault-names.ts';
import { faultsIn, type Reading, readBooks } from './books.ts';
import type { Cell, ProviderState } from './cells.ts';
import { pick } from './dice.ts';
import { disturbPostgres, disturbRedis } from './disturb.ts';
import { CLAIM_LEASE_MS, type Fleet, REQUEST_LEASE_MS } from './fleet.ts';
import { rows } from './ledger.ts';
import { type LostTimeline, NOTHING_LOST, whatIsLost } from './lost-timeline.ts';
import type { Arrival } from './orders.ts';
import { PRELUDES } from './preludes.ts';
import { ARRIVES_WITHIN_MS, LOOK_EVERY_MS, Stage } from './stage.ts';

export interface CellResult {
  readonly cell: Cell;
  readonly verdict: 'green' | 'red';
  /** What is wrong; empty for a green one. */
  readonly faults: readonly string[];
  readonly seconds: number;
  /** Signals, restarts and refused, hung or cut requests. */
  readonly injected: number;
  readonly states: string;
  readonly unknown: number;
  readonly logFolder: string;
}

/** Nothing is judged by it: it ends a cell that would never end by itself. */
const SETTLES_WITHIN_MS = 90_000;
/** A process that comes to its point as the third may never come, where the messages leave in two requests. */
const MOST_ARRIVALS = 2;
/** Past every lease of the moment at which the process was stopped. */
const SLEEP_MS = Math.max(CLAIM_LEASE_MS, REQUEST_LEASE_MS) + 250;
/** For a process that wakes up with the outcome of a lost timeline, to say what became of it. */
const SPEAKS_WITHIN_MS = 5_000;

const FAULT: Readonly<Record<ProviderState, FaultName | null>> = {
  accepts: null,
  refuses: 'refuse-before-accept',
  hangs: 'accept-then-hang',
  resets: 'accept-then-reset',
};

/** Runs one cell in a fleet that is at rest, and leaves it at rest when the cell is green. */
export async function runCell(fleet: Fleet, cell: Cell, seed: number): Promise<CellResult> {
  const run = new CellRun(new Stage(fleet, cell), seed);
  const begun = performance.now();
  let faults: string[];
  try {
    faults = await run.play();
  } catch (error) {
    faults = [`the cell could not be played: ${(error as Error).message}`];
  }
  const { reading, stage } = run;
  return {
    cell,
    verdict: faults.length > 0 ? 'red' : 'green',
    faults,
    seconds: (performance.now() - begun) / 1_000,
    injected: stage.injected,
    states: reading?.states ?? 'not read',
    unknown: reading?.unknown ?? 0,
    logFolder: fleet.logFolder,
  };
}

class CellRun {
  readonly stage: Stage;
  readonly #fleet: Fleet;
  readonly #cell: Cell;
  readonly #seed: number;
  #lost: LostTimeline = NOTHING_LOST;
  reading: Reading | undefined;

  constructor(stage: Stage, seed: number) {
    this.stage = stage;
    this.#fleet = stage.fleet;
    this.#cell = stage.cell;
    this.#seed = seed;
  }

  async play(): Promise<string[]> {
    const { redis, sim } = this.#fleet;
    const { redis: redisState, provider } = this.#cell;
    await this.#fleet.ready();
    sim.faults.clear();
    const fault = FAULT[provider];
    if (fault !== null) sim.faults.forNumber(this.stage.messages.firstNumbers, fault);
    if (redisState === 'down') await redis.kill();
    try {
      return await this.#playPoint();
    } finally {
      sim.push.to(null);
      sim.account.setBalance(null);
      if (redisState === 'down') await redis.restart();
      for (const worker of this.#fleet.workers) worker.signal('SIGCONT');
    }
  }

  async #playPoint(): Promise<string[]> {
    const { stage } = this;
    const { point, mustNotCome, provider, postgres } = this.#cell;
    const prelude = postgres === 'restored' ? 'its mark will be lost' : point.prelude;
    const played = await PRELUDES[prelude](stage, this.#seed);
    const order = await this.#fleet.orders.give(point.name, this.#nth());
    await played.begin();
    const arrival = mustNotCome === null ? await this.#awaitArrival(order) : await this.#awaitNobody(order);
    const faults: string[] = [];
    if (mustNotCome === null && arrival === null) faults.push(`${point.title} was not reached`);
    if (arrival !== null) await this.#strike(arrival);
    await played.end();
    if (FAULT[provider] !== null) stage.injected += this.#fleet.sim.log.counts().requests - stage.requestsBefore;
    this.reading = await this.#settle();
    faults.push(...(await faultsIn(stage, this.reading, this.#lost)));
    // A witness may have come there, where the machine was too busy for its reply.
    if (mustNotCome !== null && this.reading.rows.some((row) => this.#isFirst(row) && row.correlation === 'matched'))
      faults.push(`${point.title} was reached, though ${mustNotCome}`);
    const refused = Map.groupBy(await this.#fleet.serverErrors.takeNew(), (error) => error);
    for (const [error, of] of refused) faults.push(`the database refused ${of.length} times: ${error}`);
    for (const worker of this.#fleet.workers) {
      const death = worker.takeDeath();
      if (death !== null) faults.push(`a ${worker.app} worker ended by itself: ${death}`);
    }
    return faults;
  }

  /** The first to come, or the second where more than one comes for certain. */
  #nth(): number {
    const { point, id } = this.#cell;
    return SEVERAL.has(point.name) ? 1 + pick(MOST_ARRIVALS, this.#seed, id, 'nth') : 1;
  }

  async #awaitArrival(order: string): Promise<Arrival | null> {
    const until = performance.now() + ARRIVES_WITHIN_MS;
    for (;;) {
      const arrival = await this.#fleet.orders.arrival(order, performance.now() + LOOK_EVERY_MS);
      if (arrival !== null) return arrival;
      if (performance.now() > until) return this.#fleet.orders.withdraw(order);
      await this.stage.sendWitness();
    }
  }

  /** The cell comes to rest, and nobody has come; a witness that does is as good as any other. */
  async #awaitNobody(order: string): Promise<Arrival | null> {
    const until = performance.now() + SETTLES_WITHIN_MS;
    for (;;) {
      const reading = await readBooks(this.#fleet, this.stage.messages);
      if ((reading.settled && reading.rows.length > 0) || performance.now() > until)
        return this.#fleet.orders.withdraw(order);
      const arrival = await this.#fleet.orders.arrival(order, performance.now() + LOOK_EVERY_MS);
      if (arrival !== null) return arrival;
      if (reading.unknown > 0) await this.stage.sendWitness();
    }
  }

  #isFirst(row: { readonly recipient: string }): boolean {
    return this.stage.messages.firstNumbers.test(row.recipient);
  }

  /** The process stands at its point: the world around it changes, and then it is killed, or wakes up too late. */
  async #strike(arrival: Arrival): Promise<void> {
    const { action, redis, postgres } = this.#cell;
    const { stage } = this;
    const since = performance.now();
    stage.injected += 1;
    stage.injected += await disturbRedis(this.#fleet, redis);
    if (postgres === 'restored') this.#lost = await whatIsLost(this.#fleet, stage.messages);
    stage.injected += await disturbPostgres(this.#fleet, postgres);
    stage.mayEnqueue = true;
    if (action === 'kill') return stage.killArrived(arrival);
    if (postgres === 'restored') return this.#wakeInAnotherTimeline(arrival);
    while (performance.now() < since + SLEEP_MS) {
      await stage.sendWitness();
      await sleep(LOOK_EVERY_MS);
    }
    process.kill(arrival.pid, 'SIGCONT');
  }

  /**
   * The other marks what the sleeper had marked: the same submissions, under other tokens. While it stands behind a request that it has
   * made, the sleeper wakes up with what it knows of its own.
   */
  async #wakeInAnotherTimeline(sleeper: Arrival): Promise<void> {
    const { orders, pool, logFolder } = this.#fleet;
    const order = await orders.give('request: after its last byte');
    for (const worker of this.#fleet.workersOf('submit')) if (worker.pid !== sleeper.pid) worker.signal('SIGCONT');
    const other = await orders.arrival(order, performance.now() + ARRIVES_WITHIN_MS);
    if (other === null) throw new Error('nobody marks what the restored database holds');
    this.stage.injected++;
    const asked = () =>
      rows<{ marked: number }>(
        pool,
        `select count(*)::integer as marked from sendledger.submission s where s.state = 'marked'`,
      );
    const [before] = await asked();
    const log = join(logFolder, this.#fleet.workerOf(sleeper.pid)?.logName ?? '');
    const linesBefore = (await readFile(log, 'utf8')).length;
    process.kill(sleeper.pid, 'SIGCONT');
    for (const until = performance.now() + SPEAKS_WITHIN_MS; performance.now() < until; await sleep(LOOK_EVERY_MS)) {
      if ((await readFile(log, 'utf8')).slice(linesBefore).includes('outcome_stale')) break;
      const [now] = await asked();
      if (now?.marked !== before?.marked) break;
    }
    process.kill(other.pid, 'SIGCONT');
  }

  async #settle(): Promise<Reading> {
    const until = performance.now() + SETTLES_WITHIN_MS;
    for (;;) {
      const reading = await readBooks(this.#fleet, this.stage.messages);
      this.reading = reading;
      if ((reading.settled && reading.rows.length > 0) || performance.now() > until) return reading;
      if (reading.unknown > 0) await this.stage.sendWitness();
      await sleep(LOOK_EVERY_MS);
    }
  }
}

/** Points to which the first messages come more than once, whatever else happens. */
const SEVERAL: ReadonlySet<string> = new Set([
  'request: before the check of its budget',
  'request: before its first byte',
  'request: after its last byte',
]);
