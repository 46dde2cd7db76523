import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from '../../apps/demo/src/child.ts';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { type Database, ENVIRONMENT } from './services.ts';

export interface Fleet {
  readonly simulatorUrl: string;
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

  const simulator = await startChild({
    name: 'gateway-sim',
    app: 'gateway-sim',
    // Delivered before the first report is read, so that one look an accepted request is all that reconcile does.
    args: ['--port', '0', '--seed', '1', '--latency-ms', options.latencyMs, '--delivery-ms', '1000..5000'],
    environment: {},
    logFile: join(folder, 'gateway-sim.log'),
    readyIn: (line) => /^gateway-sim listening on (\S+)$/.exec(line)?.[1],
  });
  children.push(simulator);
  const submits = Array.from({ length: options.submitWorkers }, (_, i) => ({ name: `submit-${i + 1}`, app: 'submit' }));
  const wanted = [{ name: 'claim', app: 'claim' }, ...submits, { name: 'reconcile', app: 'reconcile' }];
  children.push(
    ...(await Promise.all(
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
          },
          logFile: join(folder, `${name}.log`),
          readyIn: (line) => (line.includes('"started"') ? 'started' : undefined),
        }),
      ),
    )),
  );
  return { simulatorUrl: simulator.url, stop };
}
