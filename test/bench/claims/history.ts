import type { Cleanup } from '../../../apps/demo/src/cleanup.ts';
import type { BenchOptions } from '../options.ts';
import { spreadOf } from '../percentiles.ts';
import { median } from '../ratios.ts';
import { type Bar, say, type Table } from '../report.ts';
import type { Services } from '../services.ts';
import { BenchLane, type Claimed, sayRound } from './lane.ts';
import { makeMonths, seedHistory } from './seed.ts';

const ROWS_A_CLAIM = 100;
const CLAIMS_A_ROUND = 40;
/** Held at this before each claim. */
const WAITING = 1_000;
const TENANTS = Array.from({ length: 10 }, (_, n) => `tenant-${n}`);

/** What a longer past costs a claim: databases that differ in nothing else, in turns. */
export async function claimBesideHistory(
  options: BenchOptions,
  services: Services,
  cleanup: Cleanup,
): Promise<{ tables: Table[]; bars: Bar[] }> {
  const ledgers: { rows: number; lane: BenchLane; rounds: Claimed[][] }[] = [];
  for (const rows of options.history) {
    say(`a past of ${rows} messages`);
    const database = await services.database();
    await makeMonths(database.pool);
    const lane = await BenchLane.open(database, 'history', cleanup);
    await seedHistory(database.pool, lane, rows);
    await lane.refill(WAITING, TENANTS);
    // The first ones make plans and load pages.
    for (let n = 0; n < 5; n++) await turn(lane);
    ledgers.push({ rows, lane, rounds: [] });
  }
  for (let round = 0; round < options.rounds; round++)
    for (const { rows, lane, rounds } of ledgers) {
      const claims: Claimed[] = [];
      for (let n = 0; n < CLAIMS_A_ROUND; n++) claims.push(await turn(lane));
      rounds.push(claims);
      sayRound(round, `a past of ${rows}`, claims);
    }

  const p50s = (ledger: { rounds: Claimed[][] }) =>
    ledger.rounds.map((claims) => spreadOf(claims.map((c) => c.ms)).p50);
  const buffers = (ledger: { rounds: Claimed[][] }) => median(ledger.rounds.flat().map((c) => c.buffers));
  const first = ledgers[0];
  if (first === undefined) return { tables: [], bars: [] };
  const slower = (ledger: (typeof ledgers)[number]) =>
    median(p50s(ledger).map((p50, round) => p50 / (p50s(first)[round] ?? Number.NaN)));
  return {
    tables: [
      {
        title: `Claims of ${ROWS_A_CLAIM} of ${WAITING} rows that wait, from the start of the lane, over the past beside them`,
        head: [
          'messages of the past',
          'claims',
          'p50 ms',
          'p99 ms',
          'buffers a claim',
          'p50 / shortest past',
          'buffers / shortest past',
        ],
        rows: ledgers.map((ledger) => {
          const { samples, p50, p99 } = spreadOf(ledger.rounds.flat().map((c) => c.ms));
          return [
            String(ledger.rows),
            samples,
            p50,
            p99,
            buffers(ledger),
            slower(ledger),
            buffers(ledger) / buffers(first),
          ];
        }),
      },
    ],
    bars: ledgers.slice(1).flatMap((ledger) => [
      {
        what: `claim beside ${ledger.rows} messages: p50, times that beside ${first.rows}`,
        measured: slower(ledger),
        atMost: 1.5,
      },
      {
        what: `claim beside ${ledger.rows} messages: buffers, times those beside ${first.rows}`,
        measured: buffers(ledger) / buffers(first),
        atMost: 1.2,
      },
    ]),
  };
}

async function turn(lane: BenchLane): Promise<Claimed> {
  const claimed = await lane.claim(ROWS_A_CLAIM, false);
  await lane.refill(claimed.rows, TENANTS);
  return claimed;
}
