import {
  type BackfillAccount,
  backfillAccounts,
  backfillRun,
  registerWorker,
  rowsOf,
  startBackfill,
} from '@sendledger/core/ledger';
import { type Adapter, createSmsGatewayCenter, type SmsGatewayCenterOptions } from '@sendledger/gateway';
import type { GatewaySim, GatewaySimOptions } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { type AppContext, createLog, createWakeUps, ReceiptKeeper, Registry } from '@sendledger/worker';
import { onTestFinished } from 'vitest';
import { BackfillDays, type BackfillPolicy } from '../../apps/backfill/src/backfill-days.ts';
import { furnish } from '../support/house.ts';
import { importPast, type PastSend, pastDays, simulatorWithPast } from '../support/past-messages.ts';

const POLICY: BackfillPolicy = { leaseMs: 60_000, badRowsKept: 1_000, pauseMs: 1, longestPauseMs: 1 };

export interface WorldOptions {
  readonly days: number;
  readonly perDay: number;
  readonly sim?: Partial<GatewaySimOptions>;
  readonly readsPerMinute?: string;
  /** Which of what was sent has a row of ours; default: all. */
  readonly ours?: (send: PastSend) => boolean;
}

/** A provider with a past, and our rows of it. */
export interface World {
  readonly database: TestDatabase;
  readonly sim: GatewaySim;
  readonly days: readonly string[];
  readonly sends: readonly PastSend[];
  readonly routeId: string;
  readonly account: BackfillAccount;
}

export async function worldOf(database: TestDatabase, options: WorldOptions): Promise<World> {
  const days = pastDays(options.days);
  const { sim, sends } = await simulatorWithPast(days, options.perDay, options.sim);
  onTestFinished(() => sim.close());
  const routeId = await furnish(database, { readsPerMinute: options.readsPerMinute ?? 'none' });
  await importPast(database, routeId, sends.filter(options.ours ?? (() => true)));
  const [account] = await backfillAccounts(database.pool);
  if (account === undefined) throw new Error('no account');
  return { database, sim, days, sends, routeId, account };
}

/** A run over all days of the world. */
export async function runOver({ database, days, account }: World): Promise<string> {
  const span = { from: days[0] ?? '', to: days.at(-1) ?? '' };
  return (await startBackfill(database.pool, { ...span, accounts: [account], who: 'test' })).id;
}

export interface InProcess {
  readonly worker: BackfillDays;
  readonly registry: Registry;
  /** Takes days until none is left that may be taken now. */
  untilNone(): Promise<void>;
}

/** A worker in this process, whose rounds the test makes. */
export async function workerFor(
  { database, sim }: World,
  options: {
    readonly policy?: Partial<BackfillPolicy>;
    readonly adapter?: Partial<SmsGatewayCenterOptions>;
    readonly instance?: string;
    readonly keeper?: (real: ReceiptKeeper) => Pick<ReceiptKeeper, 'store' | 'apply'>;
  } = {},
): Promise<InProcess> {
  const { pool } = database;
  const log = createLog('backfill', 'silent', 'test');
  const registry = new Registry();
  const context: AppContext = {
    ...{ pool, sql: pool, log, registry, wakeUps: createWakeUps(undefined, log) },
    worker: await registerWorker(pool, 'backfill', options.instance ?? 'backfill-0'),
  };
  const adapter: Adapter = createSmsGatewayCenter({
    ...{ baseUrl: sim.url, userid: 'demo', password: 'demopassword' },
    ...options.adapter,
  });
  onTestFinished(() => adapter.close());
  const keeper = new ReceiptKeeper(context);
  const worker = new BackfillDays(
    context,
    new Map([['smsgatewaycenter/default', adapter]]),
    { ...POLICY, ...options.policy },
    options.keeper?.(keeper) ?? keeper,
    () => undefined,
  );
  const untilNone = async () => {
    while ((await worker.round()) !== 'none');
  };
  return { worker, registry, untilNone };
}

export async function statusOf({ database }: World, run: string) {
  const status = await backfillRun(database.pool, run);
  if (status === null) throw new Error(`no run ${run}`);
  return status;
}

/** Every row of every table, as text, but the messages' own. */
export async function everythingWritten({ database: { pool } }: World): Promise<string> {
  const tables = await rowsOf<{ name: string }>(
    pool,
    `select c.relname::text as name from pg_class c where c.relnamespace = 'sendledger'::regnamespace and c.relkind = 'r'
       and c.relname not like 'outbound_message%' and c.relname not like 'mikro%' order by 1`,
  );
  const written: string[] = [];
  for (const { name } of tables) {
    const rows = await rowsOf<{ row: string }>(pool, `select t::text as row from sendledger.${name} t`);
    written.push(...rows.map(({ row }) => `${name}: ${row}`));
  }
  return written.join('\n');
}
