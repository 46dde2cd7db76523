import { SendledgerError } from '@sendledger/core';
import {
  assertReady,
  beatWithHoldings,
  beatWorker,
  endWorker,
  prepared,
  registerWorker,
  rowsOf,
  type Sql,
  WORKER_SESSION,
  type WorkerIdentity,
} from '@sendledger/core/ledger';
import { at } from '@sendledger/core/points';
import pg from 'pg';
import type { WorkerSettings } from './config.ts';
import { type HealthChecks, startHealth } from './health.ts';
import { createLog, type Log } from './log.ts';
import type { Loop } from './loop.ts';
import { createRegistry, Gauge, type Registry } from './metrics.ts';
import { createWakeUps, type WakeUps } from './wakeups.ts';

/** What an app is given to work with. */
export interface AppContext {
  /** For transactions. */
  readonly pool: pg.Pool;
  /** For single statements, prepared. */
  readonly sql: Sql;
  readonly wakeUps: WakeUps;
  readonly worker: WorkerIdentity;
  readonly log: Log;
  readonly registry: Registry;
}

export interface AppOptions {
  /** The app serves health and metrics itself, behind its own door, by the checks it is given, and says where in {@link RunningApp.url}. */
  readonly servesHealth?: boolean;
  /** Longest a statement may take, ms. Default 60 000. */
  readonly statementTimeoutMs?: number;
}

/** What an app gives back: its loops, and how it comes to rest. */
export interface RunningApp {
  readonly loops: readonly Loop[];
  /** Where it answers, of an app that serves health itself. */
  readonly url?: string;
  /**
   * Age in ms of the oldest request this process may hold open; null: none. Told with each sign of life: what may still be on
   * the wire is never called absent. Apps that send nothing have none.
   */
  holds?(): number | null;
  /** Called on shutdown before the loops are stopped: ends what is long and can be done again. */
  stopping?(): void;
  /**
   * Called on shutdown after the loops have stopped: lets requests in flight finish and gives back what was never marked.
   * `deadline` is aborted when there is no more time.
   */
  rest?(deadline: AbortSignal): Promise<void>;
}

const BEAT_MS = 5_000;
/** A terminal's Ctrl-C reaches the process directly and once more through npm and the launcher: within this time it is one. */
const SAME_SIGNAL_MS = 1_000;
/** A loop that has not ended a round for this many poll intervals is stuck; a long round is not, so the floor is high. */
const STUCK_AFTER_MS = 120_000;

/**
 * Runs one worker app: checks the database, registers the process, serves health, starts the loops, and comes to rest on
 * SIGTERM or SIGINT. Whatever is wrong at the start is one line on standard error and exit code 1, with nothing started.
 */
export async function runApp(
  name: string,
  readSettings: () => WorkerSettings,
  start: (context: AppContext, health: HealthChecks) => Promise<RunningApp> | RunningApp,
  options: AppOptions = {},
): Promise<void> {
  try {
    await bringUp(name, readSettings(), start, options);
  } catch (error) {
    process.stderr.write(`${oneLine(error)}\n`);
    process.exit(1);
  }
}

/** An error of ours says what to do; one of the system (a port that is taken) says what happened. */
const oneLine = (error: unknown) =>
  error instanceof SendledgerError
    ? error.message
    : `sendledger: ${error instanceof Error ? error.message : String(error)}`.replaceAll(/\s*\n\s*/g, ' ');

/**
 * Each app has a role of its own. Another app's is a mistake in the URL, found here and not by the first statement that is
 * refused; a role that is none of ours (a superuser in development) only gets a line.
 */
async function checkRole(pool: pg.Pool, name: string, log: Log): Promise<void> {
  const [session] = await rowsOf<{ role: string }>(pool, 'select current_user as role');
  const own = `sendledger_${name}`;
  if (session === undefined || session.role === own) return;
  if (session.role.startsWith('sendledger_'))
    throw new SendledgerError(
      'SENDLEDGER_CONFIG',
      `DATABASE_URL acts as ${session.role}, and this is ${name}: it must be ${own}.`,
    );
  log.warn({ role: session.role, own }, 'not_its_own_role');
}

async function bringUp(
  name: string,
  settings: WorkerSettings,
  start: (context: AppContext, health: HealthChecks) => Promise<RunningApp> | RunningApp,
  options: AppOptions,
): Promise<void> {
  const statementTimeoutMs = options.statementTimeoutMs ?? 60_000;
  const log = createLog(name, settings.SENDLEDGER_LOG_LEVEL, settings.SENDLEDGER_INSTANCE);
  const pool = new pg.Pool({
    connectionString: settings.DATABASE_URL,
    max: settings.SENDLEDGER_DATABASE_POOL_SIZE,
    connectionTimeoutMillis: 5_000,
    // A connection that a firewall swallowed answers nothing and closes nothing.
    keepAlive: true,
    query_timeout: statementTimeoutMs + 15_000,
    application_name: `sendledger ${name}`,
    // A transaction of ours is short; one that is not belongs to a process that hangs, and must not hold its locks.
    idle_in_transaction_session_timeout: 15_000,
    statement_timeout: statementTimeoutMs,
    // Awaited by the pool: a query of ours behind its back would meet the first one of a borrower.
    onConnect: async (client) => {
      await client.query(WORKER_SESSION);
    },
  });
  pool.on('error', (err) => log.warn({ err }, 'database_connection_lost'));
  // A server that goes says so in the same packet as its last answer: the pool has given the connection to the next one by then, who
  // does not listen yet, and an error nobody listens to would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  await assertReady(pool);
  await checkRole(pool, name, log);

  const wakeUps = createWakeUps(settings.REDIS_URL, log);
  const registry = createRegistry(name);
  new Gauge({
    name: 'sendledger_wakeup_failures',
    help: 'Wake-ups that could not be sent since the start of this process.',
    registers: [registry],
    collect() {
      this.set(wakeUps.failures);
    },
  });

  let app: RunningApp | undefined;
  let stopping = false;
  let stoppingSince = 0;
  const checks: HealthChecks = {
    alive: () => {
      const stuck = app?.loops.find((loop) => loop.quietMs > STUCK_AFTER_MS);
      return stuck === undefined ? null : `loop ${stuck.name} has not ended a round for ${stuck.quietMs} ms`;
    },
    ready: async () => {
      if (stopping) return 'shutting down';
      if (app === undefined) return 'starting';
      try {
        await rowsOf(pool, 'select 1');
        return null;
      } catch {
        return 'the database does not answer';
      }
    },
    degraded: () => (wakeUps.up === false ? 'Redis is down: working by polling' : null),
  };
  // Before the process is registered: a port that is taken must leave nothing behind.
  const health = options.servesHealth
    ? null
    : await startHealth({
        ...checks,
        host: settings.SENDLEDGER_HEALTH_HOST,
        port: settings.SENDLEDGER_HEALTH_PORT,
        registry,
      });
  const worker = await registerWorker(pool, name, settings.SENDLEDGER_INSTANCE);
  await at('boot: registered');
  app = await start({ pool, sql: prepared(pool), wakeUps, worker, log, registry }, checks);
  const { loops, rest } = app;

  const beat = setInterval(() => {
    const beaten = app?.holds ? beatWithHoldings(pool, worker.id, app.holds()) : beatWorker(pool, worker.id);
    beaten.catch((err) => log.warn({ err }, 'beat_failed'));
  }, BEAT_MS);
  for (const loop of loops) loop.start();
  log.info({ worker: worker.id, health: health?.url ?? app.url, redis: wakeUps.up !== null }, 'started');

  const stop = async (signal: string) => {
    if (stopping) {
      // A second signal means now.
      if (Date.now() - stoppingSince >= SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    stopping = true;
    stoppingSince = Date.now();
    log.info({ signal }, 'stopping');
    const deadline = AbortSignal.timeout(settings.SENDLEDGER_SHUTDOWN_DEADLINE_MS);
    deadline.addEventListener('abort', () => {
      log.warn('shutdown_deadline_passed');
      process.exit(1);
    });
    try {
      app?.stopping?.();
      await Promise.all(loops.map((loop) => loop.stop()));
      await rest?.(deadline);
      // No sign of life after the last word.
      clearInterval(beat);
      await endWorker(pool, worker.id);
    } catch (err) {
      log.error({ err }, 'shutdown_failed');
      process.exitCode = 1;
    }
    clearInterval(beat);
    await Promise.allSettled([health?.close(), wakeUps.close()]);
    await pool.end();
    log.info('stopped');
    process.exit();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}
