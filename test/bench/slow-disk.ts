import { createProducer } from '@sendledger/producer';
import pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { cpuMicros } from './cpu.ts';
import { type Life, ours } from './life.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { median, ratioOf } from './ratios.ts';
import { type BenchResult, say } from './report.ts';
import { type Database, startServices } from './services.ts';

/** What a commit over a network disk takes longer. */
const EXTRA_MS = 1;
const SLOWER_AT_MOST = 1.3;
const LANES = [1, 2] as const;

/** The whole life of a message where each commit takes a millisecond longer, beside the same where it does not, in turns. */
export async function benchSlowDisk(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const loadBefore = loadNow();
  const services = await startServices(cleanup, 'any', options);
  const database = await services.database();
  const cpu = await cpuMicros(database.pool);
  const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN' });
  cleanup.add('close the producer', () => producer.close());
  const disks = { normal: services.database, slow: async () => slowed(await services.database()) } as const;

  const lives = new Map<string, Life[]>();
  for (let round = -1; round < options.rounds; round++)
    for (const lanes of LANES)
      for (const [disk, open] of round % 2 === 0 ? Object.entries(disks) : Object.entries(disks).toReversed()) {
        const life = await ours(open, producer, cpu, {
          count: round < 0 ? Math.min(2_000, options.messages) : options.messages,
          lanes,
          maxBatch: 1,
        });
        if (round < 0) continue;
        const key = `${disk}, ${lanes}`;
        lives.set(key, [...(lives.get(key) ?? []), life]);
        say(`round ${round + 1}, ${lanes} lanes, ${disk}: ${Math.round(life.rate)}/s`);
      }

  const rates = (disk: string, lanes: number) => (lives.get(`${disk}, ${lanes}`) ?? []).map((life) => life.rate);
  const slower = (lanes: number) => ratioOf(rates('normal', lanes), rates('slow', lanes));
  return {
    bench: 'slow-disk',
    at: new Date().toISOString(),
    machine: await machineOf(database.pool, services.redis.url, loadBefore),
    loadAfter: loadNow(),
    options: { rounds: options.rounds, messages: options.messages },
    tables: [
      {
        title: `Messages a second through all steps, 500 in a flight, ${EXTRA_MS} ms added to each commit, medians`,
        head: ['lanes', 'normal', 'slow', 'time, slow / normal'],
        rows: LANES.map((lanes) => [
          String(lanes),
          Math.round(median(rates('normal', lanes))),
          Math.round(median(rates('slow', lanes))),
          slower(lanes),
        ]),
      },
    ],
    bars: LANES.map((lanes) => ({
      what: `${lanes} lanes: time of a message at +${EXTRA_MS} ms a commit, times normal`,
      measured: slower(lanes),
      atMost: SLOWER_AT_MOST,
    })),
  };
}

/** Sessions of this database that begin from now on wait before they write a commit to the disk, whether others are about to or not. */
async function slowed(database: Database): Promise<Database> {
  const name = pg.escapeIdentifier(decodeURIComponent(new URL(database.url).pathname.slice(1)));
  await database.pool.query(`alter database ${name} set commit_delay = ${EXTRA_MS * 1_000}`);
  await database.pool.query(`alter database ${name} set commit_siblings = 0`);
  return database;
}
