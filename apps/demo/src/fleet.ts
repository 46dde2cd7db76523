import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from './child.ts';
import type { Cleanup } from './cleanup.ts';
import { ENVIRONMENT } from './house.ts';
import { FAULT_SHARES, PRICE_PER_SEGMENT, SIMULATED_CURRENCY } from './provider.ts';
import type { RoleUrls } from './roles.ts';

/** The processes of a run. */
export interface Fleet {
  readonly simulator: Child;
  readonly workers: readonly Child[];
  readonly logFolder: string;
  /** Resolves when one of them ends that was not told to, with what happened. */
  readonly broken: Promise<string>;
  /** Ends the workers in good order; the simulator stays, for its books are still to be read. Answers which did not end well. */
  stopWorkers(): Promise<string[]>;
}

/** Short times, so that a request that hangs is settled while one watches. The relations are those of production. */
const QUICK = {
  SENDLEDGER_ENVIRONMENT: ENVIRONMENT,
  SENDLEDGER_POLL_INTERVAL_MS: '500',
  SENDLEDGER_CLAIM_LEASE_MS: '10000',
  SENDLEDGER_REQUEST_DEADLINE_MS: '4000',
  SENDLEDGER_LEASE_MARGIN_MS: '1000',
  SENDLEDGER_REQUEST_LEASE_MS: '6000',
  SENDLEDGER_SEND_BUDGET_MS: '1500',
  SENDLEDGER_RETRY_BASE_MS: '250',
  SENDLEDGER_FIRST_REPORT_MS: '500',
  SENDLEDGER_REPORT_PAUSE_MS: '500',
  SENDLEDGER_REPORT_LONGEST_PAUSE_MS: '4000',
  SENDLEDGER_REPORT_CONCURRENCY: '16',
  SENDLEDGER_SWEEP_INTERVAL_MS: '500',
  // Longer than the deadline of a request: what is on the wire may come home.
  SENDLEDGER_SHUTDOWN_DEADLINE_MS: '6000',
};
const WORKER_GRACE_MS = 8_000;
const SIMULATOR_GRACE_MS = 3_000;
/** Of the simulator's account, which is the only one a demo ever has. */
const ACCOUNT = { SMSGATEWAYCENTER_USERID: 'demo', SMSGATEWAYCENTER_PASSWORD: 'demopassword' };

export interface FleetOptions {
  readonly urls: RoleUrls;
  readonly redisUrl: string | null;
  readonly submitWorkers: number;
  readonly faults: boolean;
  readonly seed: number;
}

/** Starts the simulator, then the workers, each as a process of its own under its own role. */
export async function startFleet(options: FleetOptions, cleanup: Cleanup): Promise<Fleet> {
  const logFolder = await mkdtemp(join(tmpdir(), 'sendledger-demo-'));
  const simulator = await startChild({
    name: 'gateway-sim',
    app: 'gateway-sim',
    args: simulatorArguments(options),
    environment: {},
    logFile: join(logFolder, 'gateway-sim.log'),
    readyIn: (line) => /^gateway-sim listening on (\S+)$/.exec(line)?.[1],
  });
  cleanup.add('stop gateway-sim', () => simulator.stop(SIMULATOR_GRACE_MS));

  const wanted = [
    { name: 'claim', app: 'claim', url: options.urls.claim },
    ...Array.from({ length: options.submitWorkers }, (_, i) => ({
      name: options.submitWorkers === 1 ? 'submit' : `submit-${i + 1}`,
      app: 'submit',
      url: options.urls.submit,
    })),
    { name: 'reconcile', app: 'reconcile', url: options.urls.reconcile },
  ];
  const starts = await Promise.allSettled(
    wanted.map(({ name, app, url }) =>
      startChild({
        name,
        app,
        environment: {
          ...QUICK,
          ...ACCOUNT,
          SMSGATEWAYCENTER_BASE_URL: simulator.url,
          SENDLEDGER_INSTANCE: `demo-${name}`,
          DATABASE_URL: url,
          ...(options.redisUrl === null ? {} : { REDIS_URL: options.redisUrl }),
        },
        logFile: join(logFolder, `${name}.log`),
        readyIn: startedAt,
      }),
    ),
  );
  const workers = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  let stopping = false;
  const stopWorkers = async () => {
    stopping = true;
    await Promise.all(workers.map((worker) => worker.stop(WORKER_GRACE_MS)));
    const ends = await Promise.all(workers.map(async (worker) => ({ worker, how: await worker.ended })));
    return ends
      .filter(({ how }) => how !== 'code 0')
      .map(({ worker, how }) => `${worker.name} did not end in good order (${how}); see ${worker.logFile}`);
  };
  cleanup.add('stop the workers', async () => void (await stopWorkers()));
  for (const start of starts) if (start.status === 'rejected') throw start.reason;

  const broken = Promise.race(
    [simulator, ...workers].map(async (child) => {
      const how = await child.ended;
      // What ends because it was told to never settles this.
      return stopping ? new Promise<never>(() => undefined) : `${child.name} ended with ${how}; see ${child.logFile}`;
    }),
  );
  return { simulator, workers, logFolder, broken, stopWorkers };
}

function simulatorArguments({ seed, faults }: FleetOptions): string[] {
  return [
    ['--port', '0'],
    ['--seed', String(seed)],
    ['--price-per-segment', PRICE_PER_SEGMENT],
    ['--currency', SIMULATED_CURRENCY],
    ['--latency-ms', '5..40'],
    ['--delivery-ms', '200..800'],
    ['--fail-share', '0.02'],
    ...(faults ? [['--faults', FAULT_SHARES]] : []),
  ].flat();
}

/** Workers log JSON; the line `started` names the address of health and metrics. */
function startedAt(line: string): string | undefined {
  if (!line.includes('"started"')) return undefined;
  try {
    const entry = JSON.parse(line) as { event?: unknown; health?: unknown };
    return entry.event === 'started' ? String(entry.health) : undefined;
  } catch {
    return undefined;
  }
}
