import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from '@sendledger/core';
import type { AppName } from '../support/app-process.ts';
import type { Cell } from './cells.ts';
import type { Fleet } from './fleet.ts';
import { patiently, rows } from './ledger.ts';
import type { CellMessages } from './messages.ts';
import type { Arrival } from './orders.ts';
import type { Worker } from './worker.ts';

export const LOOK_EVERY_MS = 40;
/** Nothing is judged by it: it ends a wait that would never end by itself. */
export const ARRIVES_WITHIN_MS = 60_000;
/** While something is unknown, a later message that is accepted shows whether the other one is absent. Rarer with each. */
const FIRST_WITNESS_MS = 300;
const LONGEST_WITNESS_MS = 2_000;

/** What a cell is played on: its fleet and its messages, and everything that is done to them. */
export class Stage {
  readonly fleet: Fleet;
  readonly cell: Cell;
  readonly messages: CellMessages;
  /** Signals, restarts and refused, hung or cut requests. */
  injected = 0;
  enqueued = 0;
  readonly requestsBefore: number;
  /** False while what is enqueued would be lost. */
  mayEnqueue = true;
  #witnessAt = 0;
  #witnessPauseMs = FIRST_WITNESS_MS;

  constructor(fleet: Fleet, cell: Cell) {
    this.fleet = fleet;
    this.cell = cell;
    this.messages = fleet.newMessages();
    this.requestsBefore = fleet.sim.log.counts().requests;
  }

  async enqueueFirst(): Promise<void> {
    await this.enqueue(this.messages.first());
    this.#witnessAt = performance.now() + 2 * this.#witnessPauseMs;
  }

  /** Tried again where the connection was lost: the events have their keys, so that nothing is there twice. */
  async enqueue(messages: readonly Message[]): Promise<void> {
    const { pool, producer } = this.fleet;
    await patiently(() => producer.transaction(pool, (tx) => producer.enqueue(tx, messages)));
    this.enqueued += messages.length;
  }

  async sendWitness(): Promise<void> {
    if (!this.mayEnqueue || performance.now() < this.#witnessAt || this.enqueued === 0) return;
    this.#witnessPauseMs = Math.min(1.3 * this.#witnessPauseMs, LONGEST_WITNESS_MS);
    this.#witnessAt = performance.now() + this.#witnessPauseMs;
    const witness = this.messages.witness();
    if (witness !== null) await this.enqueue([witness]);
  }

  /** Lets every worker of an app stand still, or go on. */
  signal(app: AppName, signal: 'SIGSTOP' | 'SIGCONT'): void {
    for (const worker of this.fleet.workersOf(app)) this.signalOne(worker, signal);
  }

  signalOne(worker: Worker, signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (signal === 'SIGSTOP') this.injected++;
    worker.signal(signal);
  }

  /** The worker that comes to a point on the way to the cell's own, standing there. */
  async stopAt(point: string, begin: () => Promise<void>): Promise<Worker> {
    const order = await this.fleet.orders.give(point);
    await begin();
    const arrival = await this.fleet.orders.arrival(order, performance.now() + ARRIVES_WITHIN_MS);
    if (arrival === null) throw new Error(`nobody came to "${point}", which the cell needs first`);
    this.injected++;
    const worker = this.fleet.workerOf(arrival.pid);
    if (worker === undefined) throw new Error(`process ${arrival.pid} is no worker of this fleet`);
    return worker;
  }

  /** Not waited for: the other of its kind is at work, and the next cell waits for both. */
  async killAndRestart(worker: Worker): Promise<void> {
    await worker.kill();
    worker.start().catch(() => undefined);
  }

  /** The one that stands at its point, at work or still starting: who starts it tries again. */
  async killArrived({ pid }: Arrival): Promise<void> {
    const worker = this.fleet.workerOf(pid);
    if (worker === undefined) process.kill(pid, 'SIGKILL');
    else await this.killAndRestart(worker);
  }

  /** Asks the ledger until it says yes. */
  async until(what: string, question: string, values: readonly unknown[] = []): Promise<void> {
    const until = performance.now() + ARRIVES_WITHIN_MS;
    for (;;) {
      const [answer] = await rows<{ so: boolean }>(this.fleet.pool, `select (${question}) as so`, values);
      if (answer?.so === true) return;
      if (performance.now() > until) throw new Error(`it was never so that ${what}`);
      await sleep(LOOK_EVERY_MS);
    }
  }
}
