import { join } from 'node:path';
import { type Child, startChild } from '../../apps/demo/src/child.ts';
import type { AppName } from '../support/app-process.ts';

/** Loads the armed twin of the points. */
export const ARMED = '--conditions=sendledger-kill';
const GRACE_MS = 10_000;
const START_TRIES = 3;

export interface WorkerSettings {
  readonly app: AppName;
  /** Kept over restarts, as a pod's name is: a newer boot tells that the older is gone. */
  readonly instance: string;
  readonly logFolder: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** One worker of a fleet: a process at a time, started anew under the same name when it was killed. */
export class Worker {
  readonly app: AppName;
  readonly #settings: WorkerSettings;
  #child: Child | undefined;
  #boots = 0;
  #starting: Promise<void> | undefined;
  #over = false;
  #endedItself: string | null = null;
  #told = false;
  #leaving: Promise<unknown> | undefined;

  constructor(settings: WorkerSettings) {
    this.app = settings.app;
    this.#settings = settings;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** The log of the present process, in the folder of the fleet's. */
  get logName(): string {
    return `${this.#settings.instance}-${this.#boots}.log`;
  }

  /** Resolves when it is at work. */
  start(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Resolves when a start that is under way has ended; at once when there is none. One that was told to end comes back first. */
  async ready(): Promise<void> {
    await this.#leaving;
    this.#leaving = undefined;
    await this.#starting;
    if (this.#child === undefined && !this.#over) await this.start();
  }

  /** How it ended though nobody ended it, since this was asked last; null: it did not. */
  takeDeath(): string | null {
    const how = this.#endedItself;
    this.#endedItself = null;
    return how;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#child !== undefined) send(this.#child.pid, signal);
  }

  /** SIGTERM: it comes to rest in good order, and is started again when it has ended. */
  tellToEnd(): void {
    if (this.#child === undefined) return;
    this.#told = true;
    this.#leaving = this.#child.ended;
    send(this.#child.pid, 'SIGTERM');
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    this.#told = false;
    send(child.pid, 'SIGKILL');
    await child.ended;
  }

  /** In good order; a process that stands still is killed. */
  async end(): Promise<void> {
    this.#over = true;
    await this.#starting?.catch(() => undefined);
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    send(child.pid, 'SIGCONT');
    await child.stop(GRACE_MS);
  }

  async #start(): Promise<void> {
    const { app, instance, logFolder, environment } = this.#settings;
    for (let tries = 1; ; tries++) {
      this.#boots++;
      try {
        const child = await startChild({
          name: instance,
          app,
          environment: { ...environment, SENDLEDGER_INSTANCE: instance, NODE_OPTIONS: ARMED },
          logFile: join(logFolder, this.logName),
          readyIn: (line) => (line.includes('"started"') ? 'started' : undefined),
        });
        this.#child = child;
        void child.ended.then((how) => {
          if (this.#child !== child) return;
          this.#child = undefined;
          if (!this.#told) this.#endedItself = how;
          this.#told = false;
          // As whatever supervises it would: nobody can say what a dead worker holds until a newer boot of its name is there.
          this.start().catch(() => undefined);
        });
        return;
      } catch (error) {
        // The database may have been cut off just then.
        if (tries === START_TRIES || this.#over) throw error;
      }
    }
  }
}

/** One that has just ended takes no signal, and needs none. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
