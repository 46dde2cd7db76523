import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalServiceError } from './errors.ts';
import { freePort } from './free-port.ts';
import { endProcess, isRunning } from './process-life.ts';
import type { LocalRedis } from './redis.ts';
import { type Guard, guard } from './watchdog.ts';

const START_TIMEOUT_MS = 15_000;
const STOP_GRACE_MS = 5_000;
const PORT_TRIES = 5;

/** Whether a `redis-server` can be run from PATH. */
export function redisServerOnPath(): Promise<boolean> {
  return new Promise((resolve) => execFile('redis-server', ['--version'], (error) => resolve(error === null)));
}

/**
 * Starts `redis-server` from PATH on a free loopback port, with no persistence and no eviction.
 * @throws LocalServiceError when it does not come up.
 */
export async function startRedisServer(): Promise<LocalRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'sendledger-redis-'));
  const watch = guard('SIGKILL', directory);
  try {
    return await startOnFreePort(directory, watch);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    watch.release();
    throw error;
  }
}

async function startOnFreePort(directory: string, watch: Guard): Promise<LocalRedis> {
  const logFile = join(directory, 'redis.log');
  let port = 0;
  let server: ChildProcess | undefined;
  for (let attempt = 1; server === undefined; attempt++) {
    port = await freePort();
    try {
      server = await launch(port, directory, logFile, watch);
    } catch (error) {
      const portWasTaken = (await readLog(logFile)).includes('Address already in use');
      if (!portWasTaken || attempt === PORT_TRIES) throw error;
    }
  }
  let running = server;
  let stopping: Promise<void> | undefined;
  const kill = (): Promise<void> => endProcess(running.pid ?? 0, 'SIGKILL', STOP_GRACE_MS);
  return {
    url: `redis://127.0.0.1:${port}`,
    source: 'server',
    get pid() {
      return running.pid !== undefined && isRunning(running.pid) ? running.pid : null;
    },
    kill,
    async restart() {
      if (stopping !== undefined) throw new LocalServiceError('redis', 'the server was stopped; start another one');
      await kill();
      running = await launchAgain(() => launch(port, directory, logFile, watch));
    },
    stop() {
      stopping ??= (async () => {
        await kill();
        await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
        watch.release();
      })();
      return stopping;
    },
  };
}

const AGAIN_TRIES = 20;
const AGAIN_PAUSE_MS = 250;

/** Its port was free a moment ago; somebody who looked for one just then may hold it for that moment. */
async function launchAgain(start: () => Promise<ChildProcess>): Promise<ChildProcess> {
  for (let tries = 1; ; tries++)
    try {
      return await start();
    } catch (error) {
      if (tries >= AGAIN_TRIES || !String(error).includes('listening on port')) throw error;
      await sleep(AGAIN_PAUSE_MS);
    }
}

async function launch(port: number, directory: string, logFile: string, watch: Guard): Promise<ChildProcess> {
  // Emptied at each launch, so that the word "ready" in it is this launch's.
  const log = await open(logFile, 'w');
  try {
    const memory = ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'];
    const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', directory, '--daemonize', 'no'];
    const child = spawn('redis-server', [...memory, ...place], {
      cwd: directory,
      // A session of its own: a Ctrl-C in the terminal stops the program that uses the server first, not the server.
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    const failed = new Promise<never>((_resolve, reject) => child.once('error', reject));
    failed.catch(() => undefined);
    const { pid } = child;
    if (pid !== undefined) {
      watch.started(pid);
      child.once('exit', () => watch.ended(pid));
    }
    child.unref();
    await Promise.race([failed, untilReady(child, logFile)]);
    return child;
  } finally {
    await log.close();
  }
}

async function untilReady(child: ChildProcess, logFile: string): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS;
  while (child.exitCode === null && child.signalCode === null) {
    if (/ready to accept connections/i.test(await readLog(logFile))) return;
    if (Date.now() > until) {
      if (child.pid !== undefined) await endProcess(child.pid, 'SIGKILL', STOP_GRACE_MS);
      throw new LocalServiceError('redis', `redis-server was not ready after ${START_TIMEOUT_MS / 1000} s`);
    }
    await sleep(10);
  }
  const lines = (await readLog(logFile)).trim().split('\n');
  throw new LocalServiceError('redis', `redis-server did not start: ${lines.at(-1)}`);
}

function readLog(logFile: string): Promise<string> {
  return readFile(logFile, 'utf8').catch(() => '');
}
