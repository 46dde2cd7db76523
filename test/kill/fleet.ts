import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { addRate, addRoute } from '@sendledger/core/ledger';
import { migrate } from '@sendledger/core/schema';
import { type GatewaySim, startGatewaySim } from '@sendledger/gateway-sim';
import {
  createDatabase,
  type EmbeddedPostgres,
  freePort,
  type LocalRedis,
  startPostgres,
  startRedis,
  type TestDatabase,
  urlFor,
} from '@sendledger/local';
import { createProducer, type Producer } from '@sendledger/producer';
import pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import type { AppName } from '../support/app-process.ts';
import { furnish } from '../support/house.ts';
import { PUSH_SECRET } from '../support/push-endpoint.ts';
import { compiledOnce } from './compiled.ts';
import { rows } from './ledger.ts';
import { CellMessages, SECOND_ROUTE, UNDELIVERABLE } from './messages.ts';
import { Orders } from './orders.ts';
import { ERROR_PREFIX, ServerErrors } from './server-errors.ts';
import { Timeline } from './timeline.ts';
import { Worker } from './worker.ts';

/** How long a claim waits for its mark, and a mark for its outcome: a stopped process sleeps longer than both. */
export const CLAIM_LEASE_MS = 1_000;
export const REQUEST_LEASE_MS = 1_300;
/** How old a mark may be when its first byte leaves. */
export const SEND_BUDGET_MS = 600;

const SETTINGS = {
  SENDLEDGER_ENVIRONMENT: 'test',
  SENDLEDGER_POLL_INTERVAL_MS: '300',
  SENDLEDGER_DATABASE_POOL_SIZE: '4',
  SENDLEDGER_CLAIM_LEASE_MS: String(CLAIM_LEASE_MS),
  SENDLEDGER_REQUEST_DEADLINE_MS: '1000',
  SENDLEDGER_LEASE_MARGIN_MS: '300',
  SENDLEDGER_REQUEST_LEASE_MS: String(REQUEST_LEASE_MS),
  SENDLEDGER_SEND_BUDGET_MS: String(SEND_BUDGET_MS),
  SENDLEDGER_FIRST_REPORT_MS: '50',
  SENDLEDGER_REPORT_PAUSE_MS: '100',
  SENDLEDGER_REPORT_LONGEST_PAUSE_MS: '400',
  SENDLEDGER_SWEEP_INTERVAL_MS: '600',
  // What is refused is refused for good soon.
  SENDLEDGER_RETRY_BASE_MS: '10',
  SENDLEDGER_RETRY_LONGEST_MS: '50',
  SENDLEDGER_RETRY_TRIES: '2',
  SENDLEDGER_SCHEDULE_PAUSE_MS: '250',
  SENDLEDGER_SHUTDOWN_DEADLINE_MS: '5000',
  // By which the simulator refuses for now; no real code has four digits.
  SMSGATEWAYCENTER_CODES: '9903=temporary',
  SMSGATEWAYCENTER_USERID: 'demo',
  SMSGATEWAYCENTER_PASSWORD: 'demopassword',
};

/** Nothing is judged by it: it ends what would never begin. */
const WARM_WITHIN_MS = 90_000;
/** A machine too busy for leases of a second teaches no clock; then more is sent. */
const WARM_AGAIN_MS = 8_000;

/** Two of each: what one leaves behind is found by the other. */
const APPS: readonly AppName[] = ['claim', 'claim', 'submit', 'submit', 'reconcile', 'reconcile'];

type Parts = Pick<
  Fleet,
  | 'name'
  | 'postgres'
  | 'redis'
  | 'sim'
  | 'pool'
  | 'producer'
  | 'orders'
  | 'workers'
  | 'logFolder'
  | 'serverErrors'
  | 'pushUrl'
>;

/** A Postgres, a Redis, a provider and the workers between them: one world in which cells are run one after the other. */
export class Fleet {
  readonly name: string;
  readonly postgres: EmbeddedPostgres;
  readonly redis: LocalRedis;
  readonly sim: GatewaySim;
  readonly pool: pg.Pool;
  readonly producer: Producer;
  readonly orders: Orders;
  readonly workers: readonly Worker[];
  readonly logFolder: string;
  readonly serverErrors: ServerErrors;
  /** Where the first of the reconcile workers takes pushed receipts. */
  readonly pushUrl: string;
  /** Second copies at the provider that cells before could answer for. */
  knownDuplicates = 0;
  readonly #timeline: Timeline;
  #cells = 0;

  private constructor(parts: Parts, timeline: Timeline) {
    this.name = parts.name;
    this.postgres = parts.postgres;
    this.redis = parts.redis;
    this.sim = parts.sim;
    this.pool = parts.pool;
    this.producer = parts.producer;
    this.orders = parts.orders;
    this.workers = parts.workers;
    this.logFolder = parts.logFolder;
    this.serverErrors = parts.serverErrors;
    this.pushUrl = parts.pushUrl;
    this.#timeline = timeline;
  }

  /** Each with servers of its own, since they are killed. */
  static async start(name: string, cleanup: Cleanup, keepLogs: boolean): Promise<Fleet> {
    const postgres = await startPostgres({ only: 'embedded', settings: { log_line_prefix: ERROR_PREFIX } });
    cleanup.add('stop Postgres', () => postgres.stop());
    const redis = await startRedis({ only: 'private' });
    cleanup.add('stop Redis', () => redis.stop());
    const sim = await startGatewaySim({ failMobile: UNDELIVERABLE });
    cleanup.add('stop the provider', () => sim.close());
    const orders = await Orders.open();
    cleanup.add('remove orders', () => orders.close());
    const logFolder = await mkdtemp(join(tmpdir(), `sendledger-kill-log-${name}-`));
    if (!keepLogs) cleanup.add('remove logs', () => rm(logFolder, { recursive: true, force: true }));

    await createDatabase(postgres.url, 'kill');
    const url = urlFor(postgres.url, { database: 'kill' });
    await migrate(url, SETTINGS.SENDLEDGER_ENVIRONMENT);
    const pool = new pg.Pool({ connectionString: url, max: 6 });
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    cleanup.add('close connections', () => pool.end());
    await furnishTwice({ name: 'kill', url, pool, urlFor: (role) => urlFor(url, { role }) });

    const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN', redisUrl: redis.url });
    cleanup.add('close the producer', () => producer.close());
    const compiled = await compiledOnce(join(orders.folder, 'compiled'));
    const pushPort = await freePort();
    const seen = new Map<AppName, number>();
    const workers = APPS.map((app) => {
      const number = (seen.get(app) ?? 0) + 1;
      seen.set(app, number);
      return new Worker({
        app,
        instance: `${name}-${app}-${number}`,
        logFolder,
        environment: {
          ...SETTINGS,
          ...compiled,
          ...(app === 'reconcile' && number === 1
            ? { SENDLEDGER_PUSH_PORT: String(pushPort), SENDLEDGER_PUSH_SECRET: PUSH_SECRET }
            : {}),
          DATABASE_URL: urlFor(url, { role: `sendledger_${app}` }),
          REDIS_URL: redis.url,
          SMSGATEWAYCENTER_BASE_URL: sim.url,
          SENDLEDGER_KILL_ORDERS: orders.folder,
        },
      });
    });
    cleanup.add('end the workers', async () => {
      await Promise.all(workers.map((worker) => worker.end()));
    });
    await Promise.all(workers.map((worker) => worker.start()));
    const serverErrors = new ServerErrors(postgres.logFile);
    // Of the migration.
    await serverErrors.takeNew();
    const pushUrl = `http://127.0.0.1:${pushPort}/push/smsgatewaycenter/default/${PUSH_SECRET}`;
    const fleet = new Fleet(
      { name, postgres, redis, sim, pool, producer, orders, workers, logFolder, serverErrors, pushUrl },
      new Timeline(postgres.url, 'kill'),
    );
    await fleet.#warmUp();
    return fleet;
  }

  /**
   * Absence can be proven only where the provider's clock is known, by each route from messages of its own. What is on its way when a
   * database is copied would be sent again.
   */
  async #warmUp(): Promise<void> {
    const until = performance.now() + WARM_WITHIN_MS;
    for (;;) {
      const messages = this.newMessages().warmUp();
      await this.producer.transaction(this.pool, (tx) => this.producer.enqueue(tx, messages));
      for (const again = performance.now() + WARM_AGAIN_MS; performance.now() < again; await sleep(50)) {
        const [known] = await rows<{ all: boolean }>(
          this.pool,
          `select bool_and(r.clock_pairs >= 2) and not exists (select from sendledger.outbound_message m
             where m.state in ('pending', 'claimed', 'retry', 'submitted', 'unknown')) as all from sendledger.route r`,
        );
        if (known?.all === true) return;
      }
      if (performance.now() > until) throw new Error('a fleet in which nothing is disturbed does not send and learn');
    }
  }

  /** Resolves when every worker is at work. */
  async ready(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.ready()));
  }

  newMessages(): CellMessages {
    return new CellMessages(this.#cells++);
  }

  workersOf(app: AppName): readonly Worker[] {
    return this.workers.filter((worker) => worker.app === app);
  }

  /** Undefined for one that is still starting. */
  workerOf(pid: number): Worker | undefined {
    return this.workers.find((one) => one.pid === pid);
  }

  /** Keeps the database as it is now. */
  keepCopy(): Promise<void> {
    return this.#timeline.keep();
  }

  /** The database is again what it was when it was kept. */
  restoreCopy(): Promise<void> {
    return this.#timeline.restore();
  }
}

async function furnishTwice(database: TestDatabase): Promise<void> {
  const { pool } = database;
  await furnish(database, { maxBatch: 10 });
  const { id } = await addRoute(pool, {
    name: SECOND_ROUTE,
    provider: 'smsgatewaycenter',
    account: 'default',
    channel: 'sms',
    maxBatch: 1,
    encodingRule: 'ascii',
    providerZone: 'Asia/Kolkata',
    defaultSenderId: 'SHOPIN',
    senderRequired: true,
    nationalDigits: 10,
  });
  await addRate(pool, {
    routeId: id,
    priceKey: '*',
    currency: 'INR',
    price: '0.1200',
    validFrom: new Date('2020-01-01T00:00:00Z'),
    validTo: null,
  });
  await pool.query(`update sendledger.lane set settle_within = '200 milliseconds'`);
  // Its receipts are waited for a moment only; nothing but what is never reported is sent by it.
  await pool.query(
    `update sendledger.lane set receipt_within = '500 milliseconds', window_opens = null, window_closes = null, window_zone = null
     where message_class = 'promotional'`,
  );
  await pool.query(`update sendledger.route set schedule_lead = interval '10 minutes'`);
  // Five failures in a row are what a cell is made of. The breaker has tests of its own.
  await pool.query('update sendledger.route set breaker_threshold = 1000000');
}
