import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { claimBehindDeadTuples } from './claims/dead-tuples.ts';
import { claimBesideHistory } from './claims/history.ts';
import { receiptsBesideBacklog } from './claims/receipts.ts';
import { claimAmongTenants } from './claims/tenants.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions, ClaimPart } from './options.ts';
import { type Bar, type BenchResult, say, type Table } from './report.ts';
import { type Services, startServices } from './services.ts';

const PARTS: Record<
  ClaimPart,
  (options: BenchOptions, services: Services, cleanup: Cleanup) => Promise<{ tables: Table[]; bars: Bar[] }>
> = {
  history: claimBesideHistory,
  'dead-tuples': claimBehindDeadTuples,
  tenants: claimAmongTenants,
  receipts: receiptsBesideBacklog,
};

/** What a claim costs when the ledger is large, unvacuumed or shared by many, and a receipt when many are awaited. */
export async function benchClaim(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const loadBefore = loadNow();
  // Millions of rows are written before anything is measured; with the server's own small log it would write its pages all the time.
  const services = await startServices(cleanup, 'any', options, { max_wal_size: '8GB', checkpoint_timeout: '15min' });
  const tables: Table[] = [];
  const bars: Bar[] = [];
  for (const [name, measure] of Object.entries(PARTS)) {
    if (options.part !== 'all' && options.part !== name) continue;
    const load = loadNow();
    const measured = await measure(options, services, cleanup);
    say(`${name}: load ${load} before, ${loadNow()} at its end`);
    tables.push(...measured.tables);
    bars.push(...measured.bars);
  }
  const { pool } = await services.database();
  return {
    bench: 'claim',
    at: new Date().toISOString(),
    machine: await machineOf(pool, services.redis.url, loadBefore),
    loadAfter: loadNow(),
    options: {
      part: options.part,
      history: options.history,
      dead: options.dead,
      backlog: options.backlog,
      rounds: options.rounds,
    },
    tables,
    bars,
  };
}
