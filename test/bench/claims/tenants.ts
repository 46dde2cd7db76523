import type { Cleanup } from '../../../apps/demo/src/cleanup.ts';
import type { BenchOptions } from '../options.ts';
import { spreadOf } from '../percentiles.ts';
import { median } from '../ratios.ts';
import { type Bar, say, type Table } from '../report.ts';
import type { Services } from '../services.ts';
import { BenchLane, type Claimed, sayRound } from './lane.ts';
import { seedWaiting } from './seed.ts';

const ROWS_A_CLAIM = 500;
const CLAIMS_A_ROUND = 10;
const HOUR_MS = 3_600_000;
const BIG = 'big';
const LANES = [
  { tenants: 1, atMost: null },
  { tenants: 50, atMost: 1.6 },
  { tenants: 1_000, atMost: 2.2 },
] as const;

/** One tenant with a long queue, alone and among others: what taking turns costs, and that each has its turn. */
export async function claimAmongTenants(
  options: BenchOptions,
  services: Services,
  cleanup: Cleanup,
): Promise<{ tables: Table[]; bars: Bar[] }> {
  const lanes: Contestant[] = [];
  const turns = (options.rounds + 1) * CLAIMS_A_ROUND * 2;
  for (const { tenants, atMost } of LANES) {
    say(`${tenants} tenants, one of them with ${options.backlog} rows`);
    const database = await services.database();
    const lane = await BenchLane.open(database, `tenants-${tenants}`, cleanup);
    const others = Array.from({ length: tenants - 1 }, (_, n) => `small-${n}`);
    await seedWaiting(database.pool, lane, Math.max(options.backlog, turns * ROWS_A_CLAIM), [BIG], HOUR_MS);
    // Enough that nobody runs dry: who has nothing left is not served.
    const each = Math.ceil((ROWS_A_CLAIM / tenants) * turns * 1.5);
    if (others.length > 0) await seedWaiting(database.pool, lane, each * others.length, others, HOUR_MS);
    await database.pool.query('analyze');
    await database.pool.query('checkpoint');
    for (const hinted of [true, false]) lanes.push({ tenants, atMost, lane, hinted, rounds: [], unserved: 0 });
  }
  for (let round = -1; round < options.rounds; round++)
    for (const contestant of lanes) {
      const { lane, hinted, tenants, rounds } = contestant;
      const claims: Claimed[] = [];
      for (let n = 0; n < CLAIMS_A_ROUND; n++) claims.push(await lane.claim(ROWS_A_CLAIM, hinted));
      contestant.unserved += unserved(claims, tenants);
      if (round < 0) continue;
      rounds.push(claims);
      sayRound(round, `${tenants} tenants, ${hinted ? 'with the hint' : 'from the start'}`, claims);
    }

  const alone = (hinted: boolean) => lanes.find((one) => one.tenants === 1 && one.hinted === hinted);
  const slower = (one: Contestant) =>
    median(p50s(one).map((p50, round) => p50 / (p50s(alone(one.hinted))[round] ?? Number.NaN)));
  return {
    tables: [
      {
        title: `Claims of ${ROWS_A_CLAIM}, one tenant with ${options.backlog} rows that wait`,
        head: ['tenants', 'claims', 'p50 ms', 'p99 ms', 'buffers, median', 'p50 / one tenant', 'turns missed'],
        rows: lanes.map((one) => {
          const { samples, p50, p99 } = spreadOf(one.rounds.flat().map((c) => c.ms));
          const buffers = median(one.rounds.flat().map((c) => c.buffers));
          const name = `${one.tenants}, ${one.hinted ? 'with the hint' : 'from the start'}`;
          return [name, samples, p50, p99, buffers, slower(one), one.unserved];
        }),
      },
    ],
    bars: lanes.flatMap((one): Bar[] => {
      if (one.atMost === null || !one.hinted) return [];
      return [
        {
          what: `claim among ${one.tenants} tenants: p50, times that of one`,
          measured: slower(one),
          atMost: one.atMost,
        },
        { what: `claim among ${one.tenants} tenants: turns missed`, measured: one.unserved, atMost: 0 },
      ];
    }),
  };
}

interface Contestant {
  readonly tenants: number;
  readonly atMost: number | null;
  readonly lane: BenchLane;
  readonly hinted: boolean;
  readonly rounds: Claimed[][];
  /** Turns that a tenant waited for and did not have. */
  unserved: number;
}

const p50s = (one: Contestant | undefined) =>
  (one?.rounds ?? []).map((claims) => spreadOf(claims.map((c) => c.ms)).p50);

/** In as many claims as a row for each takes, each has one. */
function unserved(claims: readonly Claimed[], tenants: number): number {
  const together = Math.ceil(tenants / ROWS_A_CLAIM);
  let missed = 0;
  for (let n = 0; n + together <= claims.length; n += together)
    missed += tenants - new Set(claims.slice(n, n + together).flatMap((claimed) => claimed.tenants)).size;
  return missed;
}
