import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from '../../apps/demo/src/child.ts';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { type Database, ENVIRONMENT } from './services.ts';

export interface Fleet {
  readonly simulatorUrl: string;
  /** Process ids by part: `gateway-sim`, `claim`, `submit` (several), `reconcile`. */
  readonly pids: ReadonlyMap<string, readonly number[]>;
  /** Halts claim, submit and reconcile where they are, so that somebody else has the processor, and lets them go on. */
  hold(): void;
  goOn(): void;
  /** Ends all of it, the simulator last. */
  stop(): Promise<void>;
}

const GRACE_MS = 15_000;

/**
 * The simulated provider and claim, submit and reconcile, each a process of its own under its own role. With the settings that
 * ship: only the account and the names of the servers are given.
 */
export async function startFleet(
  options: {
    readonly database: Database;
    readonly redisUrl: string;
    readonly submitWorkers: number;
    readonly latencyMs: string;
    readonly profile: string | null;
  },
  cleanup: Cleanup,
): Promise<Fleet> {
  const folder = await mkdtemp(join(tmpdir(), 'sendledger-bench-'));
  const children: Child[] = [];
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    const [simulator, ...workers] = children;
    await Promise.all(workers.map((worker) => worker.stop(GRACE_MS)));
    await simulator?.stop(GRACE_MS);
    await rm(folder, { recursive: true, force: true });
  };
  cleanup.add('stop the fleet', stop);

  const simulator = await startSimulator(folder, options.latencyMs, options.profile);
  children.push(simulator);
  const submits = Array.from({ length: options.submitWorkers }, (_, i) => ({ name: `submit-${i + 1}`, app: 'submit' }));
  const wanted = [{ name: 'claim', app: 'claim' }, ...submits, { name: 'reconcile', app: 'reconcile' }];
  const workers = await Promise.all(
    wanted.map(({ name, app }) =>
      startChild({
        name,
        app,
        environment: {
          SENDLEDGER_ENVIRONMENT: ENVIRONMENT,
          SENDLEDGER_INSTANCE: `bench-${name}`,
          DATABASE_URL: options.database.urlFor(`sendledger_${app}`),
          REDIS_URL: options.redisUrl,
          SMSGATEWAYCENTER_BASE_URL: simulator.url,
          SMSGATEWAYCENTER_USERID: 'demo',
          SMSGATEWAYCENTER_PASSWORD: 'demopassword',
          ...profiled(options.profile, name),
        },
        logFile: join(folder, `${name}.log`),
        readyIn: (line) => (line.includes('"started"') ? 'started' : undefined),
      }),
    ),
  );
  children.push(...workers);
  const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
    for (const { pid } of workers) process.kill(pid, name);
  };
  const pidsOf = (app: string) => workers.filter((_, n) => wanted[n]?.app === app).map(({ pid }) => pid);
  return {
    simulatorUrl: simulator.url,
    pids: new Map([
      ['claim', pidsOf('claim')],
      ['submit', pidsOf('submit')],
      ['reconcile', pidsOf('reconcile')],
      ['gateway-sim', [simulator.pid]],
    ]),
    hold: () => signal('SIGSTOP'),
    goOn: () => signal('SIGCONT'),
    stop,
  };
}

/** The simulated provider alone. */
export function startSimulator(folder: string, latencyMs: string, profile: string | null): Promise<Child> {
  return startChild({
    name: 'gateway-sim',
    app: 'gateway-sim',
    // Delivered before the first report is read, so that one look an accepted request is all that reconcile does.
    args: ['--port', '0', '--seed', '1', '--latency-ms', latencyMs, '--delivery-ms', '1000..5000'],
    environment: profiled(profile, 'gateway-sim'),
    logFile: join(folder, 'gateway-sim.log'),
    readyIn: (line) => /^gateway-sim listening on (\S+)$/.exec(line)?.[1],
  });
}

/** Node writes the profile when the process ends. Two fleets of one run do not overwrite each other's. */
function profiled(folder: string | null, name: string): Record<string, string> {
  if (folder === null) return {};
  const file = `${name}-${Date.now()}.cpuprofile`;
  return { NODE_OPTIONS: `--cpu-prof "--cpu-prof-dir=${folder}" --cpu-prof-name=${file}` };
}
