import pg from 'pg';
import type { Cleanup } from '../../../apps/demo/src/cleanup.ts';
import { withoutAutovacuum } from '../buffers.ts';
import type { BenchOptions } from '../options.ts';
import { spreadOf } from '../percentiles.ts';
import { median } from '../ratios.ts';
import { type Bar, say, type Table } from '../report.ts';
import type { Services } from '../services.ts';
import { BenchLane, type Claimed, sayRound } from './lane.ts';
import { deliverAllWaiting, seedWaiting } from './seed.ts';

const ROWS_A_CLAIM = 100;
const WAITING = 1_000;
const TENANTS = Array.from({ length: 10 }, (_, n) => `tenant-${n}`);
const HOUR_MS = 3_600_000;

/** Claims behind rows that were claimed before and cannot be vacuumed, since a snapshot from before is held open somewhere. */
export async function claimBehindDeadTuples(
  options: BenchOptions,
  services: Services,
  cleanup: Cleanup,
): Promise<{ tables: Table[]; bars: Bar[] }> {
  say(`${options.dead} dead tuples, and as many rows without`);
  const [clean, dead] = [await laneOf('clean'), await laneOf('dead')];
  const contestants: { name: string; lane: BenchLane; hinted: boolean; claims: number; rounds: Claimed[][] }[] = [
    { name: 'clean, with the hint', lane: clean, hinted: true, claims: 40, rounds: [] },
    { name: 'clean, from the start', lane: clean, hinted: false, claims: 40, rounds: [] },
    { name: 'dead tuples, with the hint', lane: dead, hinted: true, claims: 40, rounds: [] },
    // Some take a second.
    { name: 'dead tuples, from the start', lane: dead, hinted: false, claims: 2, rounds: [] },
  ];
  for (let round = -1; round < options.rounds; round++)
    for (const { name, lane, hinted, claims, rounds } of contestants) {
      const made: Claimed[] = [];
      for (let n = 0; n < (round < 0 ? 1 : claims); n++) {
        const claimed = await lane.claim(ROWS_A_CLAIM, hinted);
        await lane.refill(claimed.rows, TENANTS);
        made.push(claimed);
      }
      if (round < 0) continue;
      rounds.push(made);
      sayRound(round, name, made);
    }

  const slower = (one: number, other: number) =>
    median(
      p50s(contestants[one]?.rounds).map((p50, round) => p50 / (p50s(contestants[other]?.rounds)[round] ?? Number.NaN)),
    );
  return {
    tables: [
      {
        title: `Claims of ${ROWS_A_CLAIM} of ${WAITING} rows that wait, behind ${options.dead} that were claimed while an old snapshot is held`,
        head: ['', 'claims', 'p50 ms', 'p99 ms', 'max ms', 'buffers, median', 'p50 / clean alike'],
        rows: contestants.map(({ name, rounds }, n) => {
          const { samples, p50, p99, max } = spreadOf(rounds.flat().map((c) => c.ms));
          return [name, samples, p50, p99, max, median(rounds.flat().map((c) => c.buffers)), slower(n, n % 2)];
        }),
      },
    ],
    bars: [
      {
        what: 'claim behind dead tuples with the hint: p50, times that without them',
        measured: slower(2, 0),
        atMost: 2,
      },
    ],
  };

  async function laneOf(kind: 'clean' | 'dead'): Promise<BenchLane> {
    const database = await services.database();
    await withoutAutovacuum(database.pool);
    const lane = await BenchLane.open(database, kind, cleanup);
    await seedWaiting(database.pool, lane, options.dead, TENANTS, HOUR_MS);
    await database.pool.query('analyze');
    const holder = kind === 'dead' ? await holdSnapshot(database.url) : undefined;
    await deliverAllWaiting(database.pool, lane);
    // Without a snapshot in the way a vacuum takes them; with it this changes nothing.
    await database.pool.query('vacuum sendledger.outbound_message');
    await database.pool.query('checkpoint');
    if (holder !== undefined) cleanup.add('let go of the snapshot', () => holder.end());
    await lane.refill(WAITING, TENANTS);
    return lane;
  }
}

const p50s = (rounds: Claimed[][] | undefined) =>
  (rounds ?? []).map((claims) => spreadOf(claims.map((claimed) => claimed.ms)).p50);

/** A session that looked at the ledger once and has left its transaction open: a report, a dump, a forgotten console. */
async function holdSnapshot(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select count(*) from sendledger.route');
  return client;
}
