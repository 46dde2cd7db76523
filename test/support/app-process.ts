import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type AppName = 'claim' | 'submit' | 'reconcile' | 'backfill' | 'ops';

export interface LogLine {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** A worker app as a process of its own, as in production. */
export interface AppProcess {
  readonly pid: number;
  readonly log: readonly LogLine[];
  readonly stderr: string;
  /** Resolves with the first log line, past or future, that fits. Rejects when the process ends without one. */
  saw(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** By pid, so that a process that is stopped gets it too. */
  signal(signal: NodeJS.Signals): void;
  /** Exit code, or null when a signal ended it. */
  readonly ended: Promise<number | null>;
}

const main = (app: AppName) => fileURLToPath(new URL(`../../apps/${app}/src/main.ts`, import.meta.url));

/** Short times, so that leases and deadlines pass within a test; the relations between them are those of production. */
const QUICK = {
  SENDLEDGER_ENVIRONMENT: 'test',
  SENDLEDGER_POLL_INTERVAL_MS: '100',
  SENDLEDGER_CLAIM_LEASE_MS: '5000',
  // Long: on a busy machine a request must not become unknown in a test that is about something else.
  SENDLEDGER_REQUEST_DEADLINE_MS: '40000',
  SENDLEDGER_LEASE_MARGIN_MS: '500',
  SENDLEDGER_REQUEST_LEASE_MS: '45000',
  SENDLEDGER_SEND_BUDGET_MS: '15000',
  SENDLEDGER_FIRST_REPORT_MS: '50',
  SENDLEDGER_REPORT_PAUSE_MS: '100',
  SENDLEDGER_REPORT_LONGEST_PAUSE_MS: '1000',
  SENDLEDGER_SWEEP_INTERVAL_MS: '100',
  SENDLEDGER_BACKFILL_PAUSE_MS: '100',
  SENDLEDGER_BACKFILL_LONGEST_PAUSE_MS: '1000',
  SENDLEDGER_SHUTDOWN_DEADLINE_MS: '20000',
  SENDLEDGER_OPS_PORT: '0',
  SENDLEDGER_CENSUS_INTERVAL_MS: '200',
  SMSGATEWAYCENTER_USERID: 'demo',
  SMSGATEWAYCENTER_PASSWORD: 'demopassword',
};

/** For a test in which a lease ends: the worker whose request is lost is started with these. */
export const SHORT_LEASE = {
  SENDLEDGER_REQUEST_DEADLINE_MS: '1500',
  SENDLEDGER_LEASE_MARGIN_MS: '500',
  SENDLEDGER_REQUEST_LEASE_MS: '2000',
  SENDLEDGER_SEND_BUDGET_MS: '600',
};

/** @param orders folder of the orders by which the points of this process are armed; see `test/kill/orders.ts`. */
export function startApp(app: AppName, environment: Readonly<Record<string, string>>, orders?: string): AppProcess {
  return startProgram(main(app), environment, orders);
}

/** The same of a program of a test's own that runs an app. @param file its path. */
export function startProgram(file: string, environment: Readonly<Record<string, string>>, orders?: string): AppProcess {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
  const armed = orders === undefined ? {} : { SENDLEDGER_KILL_ORDERS: orders };
  const flags = orders === undefined ? [] : ['--conditions=sendledger-kill'];
  const child: ChildProcess = spawn(process.execPath, [...flags, file], {
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...QUICK, ...armed, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: LogLine[] = [];
  const waiting = new Set<{ fits: (line: LogLine) => boolean; resolve: (line: LogLine) => void }>();
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  if (child.stdout === null) throw new Error('no standard output');
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as LogLine;
    log.push(line);
    for (const waiter of waiting)
      if (waiter.fits(line)) {
        waiting.delete(waiter);
        waiter.resolve(line);
      }
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const { pid } = child;
  // Not -1: a signal to that is one to every process of the machine.
  if (pid === undefined) throw new Error(`${file} could not be started`);
  processes.add(child);
  void ended.then(() => processes.delete(child));
  return {
    pid,
    log,
    get stderr() {
      return stderr;
    },
    ended,
    saw: (fits) => {
      const past = log.find(fits);
      if (past !== undefined) return Promise.resolve(past);
      return Promise.race([
        new Promise<LogLine>((resolve) => waiting.add({ fits, resolve })),
        ended.then((code) => Promise.reject(new Error(`${file} ended with ${code} before that: ${stderr}`))),
      ]);
    },
    signal: (signal) => {
      process.kill(pid, signal);
    },
  };
}

const processes = new Set<ChildProcess>();

/** Ends what a failed test left behind. */
export async function endAllApps(): Promise<void> {
  await Promise.all(
    [...processes].map(async (child) => {
      // A stopped process takes only this one.
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    }),
  );
}
