import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from '@sendledger/core';
import type { FaultName } from '../../apps/gateway-sim/src/fault-names.ts';
import { faultsIn, type Reading, readBooks } from './books.ts';
import type { Cell, ProviderState } from './cells.ts';
import { pick } from './dice.ts';
import { disturbPostgres, disturbRedis } from './disturb.ts';
import { CLAIM_LEASE_MS, type Fleet, REQUEST_LEASE_MS } from './fleet.ts';
import { patiently } from './ledger.ts';
import type { CellMessages } from './messages.ts';
import type { Arrival } from './orders.ts';
import type { Worker } from './worker.ts';

export interface CellResult {
  readonly cell: Cell;
  readonly verdict: 'green' | 'red' | 'not reached';
  /** What is wrong; empty for a green one. */
  readonly faults: readonly string[];
  readonly seconds: number;
  /** Signals, restarts and refused, hung or cut requests. */
  readonly injected: number;
  readonly states: string;
  readonly unknown: number;
  readonly logFolder: string;
}

/** Nothing is judged by these: they end a cell that would never end by itself. */
const ARRIVES_WITHIN_MS = 45_000;
const SETTLES_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 40;
/** While something is unknown, a later message that is accepted shows whether the other one is absent. Rarer with each. */
const FIRST_WITNESS_MS = 300;
const LONGEST_WITNESS_MS = 2_000;
/** A process that comes to its point as the third may never come, where the messages leave in two requests. */
const MOST_ARRIVALS = 2;
/** Past every lease of the moment at which the process was stopped. */
const SLEEP_MS = Math.max(CLAIM_LEASE_MS, REQUEST_LEASE_MS) + 250;

const FAULT: Readonly<Record<ProviderState, FaultName | null>> = {
  accepts: null,
  refuses: 'refuse-before-accept',
  hangs: 'accept-then-hang',
  resets: 'accept-then-reset',
};

/** Runs one cell in a fleet that is at rest, and leaves it at rest when the cell is green. */
export async function runCell(fleet: Fleet, cell: Cell, seed: number): Promise<CellResult> {
  const run = new CellRun(fleet, cell, seed);
  const begun = performance.now();
  let faults: string[];
  try {
    faults = await run.play();
  } catch (error) {
    faults = [`the cell could not be played: ${(error as Error).message}`];
  }
  const { reading, injected } = run;
  const green = cell.notReached === null ? 'green' : 'not reached';
  return {
    cell,
    verdict: faults.length > 0 ? 'red' : green,
    faults,
    seconds: (performance.now() - begun) / 1_000,
    injected,
    states: reading?.states ?? 'not read',
    unknown: reading?.unknown ?? 0,
    logFolder: fleet.logFolder,
  };
}

class CellRun {
  readonly #fleet: Fleet;
  readonly #cell: Cell;
  readonly #seed: number;
  readonly #messages: CellMessages;
  #enqueued = 0;
  #witnessAt = 0;
  #witnessPauseMs = FIRST_WITNESS_MS;
  #requestsBefore = 0;
  injected = 0;
  reading: Reading | undefined;

  constructor(fleet: Fleet, cell: Cell, seed: number) {
    this.#fleet = fleet;
    this.#cell = cell;
    this.#seed = seed;
    this.#messages = fleet.newMessages();
  }

  async play(): Promise<string[]> {
    const { redis, sim } = this.#fleet;
    const { redis: redisState, provider } = this.#cell;
    await this.#fleet.ready();
    sim.faults.clear();
    const fault = FAULT[provider];
    if (fault !== null) sim.faults.forNumber(this.#messages.firstNumbers, fault);
    this.#requestsBefore = sim.log.counts().requests;
    if (redisState === 'down') await redis.kill();
    try {
      return await this.#playPoint();
    } finally {
      if (redisState === 'down') await redis.restart();
      for (const worker of this.#fleet.workers) worker.signal('SIGCONT');
    }
  }

  async #playPoint(): Promise<string[]> {
    const cell = this.#cell;
    const leftBehind = await this.#prelude();
    const order = await this.#fleet.orders.give(cell.point.name, this.#nth());
    if (cell.point.prelude === 'nothing' || cell.point.prelude === 'nobody marks') await this.#enqueueFirst();
    const arrival = cell.notReached === null ? await this.#awaitArrival(order) : await this.#awaitNobody(order);
    const faults: string[] = [];
    if (cell.notReached === null && arrival === null) faults.push(`${cell.point.name} was not reached`);
    if (arrival !== null) await this.#strike(arrival);
    await leftBehind();
    if (FAULT[cell.provider] !== null) this.injected += this.#fleet.sim.log.counts().requests - this.#requestsBefore;
    this.reading = await this.#settle();
    faults.push(...(await faultsIn(this.#fleet, this.reading, this.#enqueued, cell.provider)));
    // A witness may have come there, where the machine was too busy for its reply.
    if (
      cell.notReached !== null &&
      this.reading.rows.some((row) => this.#isFirst(row) && row.correlation === 'matched')
    )
      faults.push(`${cell.point.name} was reached`);
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

  /** What has to go wrong first. Answers what is to be done with those it stopped, once the point was played. */
  async #prelude(): Promise<() => Promise<void>> {
    const { orders } = this.#fleet;
    const submitters = this.#fleet.workersOf('submit');
    switch (this.#cell.point.prelude) {
      case 'nothing':
        return async () => undefined;
      case 'nobody marks':
        for (const worker of submitters) this.#signal(worker, 'SIGSTOP');
        return async () => {
          for (const worker of submitters) worker.signal('SIGCONT');
        };
      case 'a mark is lost': {
        const worker = await this.#stopFirst(await orders.give('mark: after commit'));
        return async () => {
          if (pick(2, this.#seed, this.#cell.id, 'awakes') === 0) await this.#killAndRestart(worker);
          else this.#signal(worker, 'SIGCONT');
        };
      }
      case 'a reply is lost': {
        const worker = await this.#stopFirst(await orders.give('request: after its last byte'));
        // The bytes are with the system; the provider has read them when it counts the request.
        while (this.#fleet.sim.log.counts().requests === this.#requestsBefore) await sleep(LOOK_EVERY_MS);
        await this.#killAndRestart(worker);
        return async () => undefined;
      }
      case 'a request is never made': {
        const worker = await this.#stopFirst(await orders.give('mark: after commit'));
        await this.#killAndRestart(worker);
        return async () => undefined;
      }
    }
  }

  async #stopFirst(order: string): Promise<Worker> {
    await this.#enqueueFirst();
    const arrival = await this.#fleet.orders.arrival(order, performance.now() + ARRIVES_WITHIN_MS);
    if (arrival === null) throw new Error('nobody came to the point of the prelude');
    this.injected++;
    return this.#fleet.workerOf(arrival.pid);
  }

  async #awaitArrival(order: string): Promise<Arrival | null> {
    const until = performance.now() + ARRIVES_WITHIN_MS;
    for (;;) {
      const arrival = await this.#fleet.orders.arrival(order, performance.now() + LOOK_EVERY_MS);
      if (arrival !== null) return arrival;
      if (performance.now() > until) return this.#fleet.orders.withdraw(order);
      await this.#sendWitness();
    }
  }

  /** The cell comes to rest, and nobody has come; a witness that does is as good as any other. */
  async #awaitNobody(order: string): Promise<Arrival | null> {
    const until = performance.now() + SETTLES_WITHIN_MS;
    for (;;) {
      const reading = await readBooks(this.#fleet, this.#messages);
      if ((reading.settled && reading.rows.length > 0) || performance.now() > until)
        return this.#fleet.orders.withdraw(order);
      const arrival = await this.#fleet.orders.arrival(order, performance.now() + LOOK_EVERY_MS);
      if (arrival !== null) return arrival;
      if (reading.unknown > 0) await this.#sendWitness();
    }
  }

  #isFirst(row: { readonly recipient: string }): boolean {
    return this.#messages.firstNumbers.test(row.recipient);
  }

  /** The process stands at its point: the world around it changes, and then it is killed, or wakes up too late. */
  async #strike(arrival: Arrival): Promise<void> {
    const cell = this.#cell;
    const worker = this.#fleet.workerOf(arrival.pid);
    const since = performance.now();
    this.injected += 1;
    this.injected += await disturbRedis(this.#fleet, cell.redis);
    this.injected += await disturbPostgres(this.#fleet, cell.postgres);
    if (cell.action === 'kill') {
      await this.#killAndRestart(worker);
      return;
    }
    while (performance.now() < since + SLEEP_MS) {
      await this.#sendWitness();
      await sleep(LOOK_EVERY_MS);
    }
    worker.signal('SIGCONT');
  }

  async #killAndRestart(worker: Worker): Promise<void> {
    await worker.kill();
    // Not waited for: the other of its kind is at work, and the next cell waits for both.
    worker.start().catch(() => undefined);
  }

  #signal(worker: Worker, signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (signal === 'SIGSTOP') this.injected++;
    worker.signal(signal);
  }

  async #settle(): Promise<Reading> {
    const until = performance.now() + SETTLES_WITHIN_MS;
    for (;;) {
      const reading = await readBooks(this.#fleet, this.#messages);
      this.reading = reading;
      if ((reading.settled && reading.rows.length > 0) || performance.now() > until) return reading;
      if (reading.unknown > 0) await this.#sendWitness();
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #enqueueFirst(): Promise<void> {
    await this.#enqueue(this.#messages.first());
    this.#witnessAt = performance.now() + 2 * this.#witnessPauseMs;
  }

  async #sendWitness(): Promise<void> {
    if (performance.now() < this.#witnessAt || this.#enqueued === 0) return;
    this.#witnessPauseMs = Math.min(1.3 * this.#witnessPauseMs, LONGEST_WITNESS_MS);
    this.#witnessAt = performance.now() + this.#witnessPauseMs;
    const witness = this.#messages.witness();
    if (witness !== null) await this.#enqueue([witness]);
  }

  /** Tried again where the connection was lost: the events have their keys, so that nothing is there twice. */
  async #enqueue(messages: readonly Message[]): Promise<void> {
    const { pool, producer } = this.#fleet;
    await patiently(() => producer.transaction(pool, (tx) => producer.enqueue(tx, messages)));
    this.#enqueued += messages.length;
  }
}

/** Points to which the first messages come more than once, whatever else happens. */
const SEVERAL: ReadonlySet<string> = new Set([
  'request: before the check of its budget',
  'request: before its first byte',
  'request: after its last byte',
]);
