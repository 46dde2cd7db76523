import { randomUUID } from 'node:crypto';
import { createProducer, type Producer } from '@sendledger/producer';
import type pg from 'pg';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { furnish } from './house.ts';
import { loadNow, machineOf } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { startGraphile } from './peers/graphile.ts';
import { type Peer, payloadOf, textOf } from './peers/peer.ts';
import { startPgBoss } from './peers/pg-boss.ts';
import { median, ratioOf } from './ratios.ts';
import { type BenchResult, say } from './report.ts';
import { startServices } from './services.ts';

/** Messages in one call × calls of one measurement. */
const SIZES = [
  { perCall: 1, calls: 400 },
  { perCall: 100, calls: 40 },
  { perCall: 1_000, calls: 8 },
] as const;

/**
 * Enqueue in the caller's own transaction, one to a thousand a call, against other queues on the same server, in turns. Ours is
 * the whole of it: numbers normalised, segments counted, keys made, and every guard of the table.
 */
export async function benchEnqueue(options: BenchOptions, cleanup: Cleanup): Promise<BenchResult> {
  const loadBefore = loadNow();
  const services = await startServices(cleanup, 'any', options);
  const database = await services.database();
  const { pool } = database;
  await furnish(pool, { maxBatch: 500, submitWorkers: 1 });
  const peers = [await startPgBoss(database.url), await startGraphile(database.url)];
  for (const peer of peers) cleanup.add(`stop ${peer.name}`, () => peer.stop());
  const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN' });
  cleanup.add('close the producer', () => producer.close());

  const contestants = [ourselves(producer), ...peers];
  const rates = new Map<string, number[]>();
  const client = await pool.connect();
  for (let round = -1; round < options.rounds; round++)
    for (const size of SIZES)
      for (const one of inTurn(contestants, round)) {
        const seconds = await measure(client, one, size.perCall, size.calls);
        // The first round warms plans and caches.
        if (round < 0) continue;
        const key = `${one.name} ${size.perCall}`;
        rates.set(key, [...(rates.get(key) ?? []), (size.perCall * size.calls) / seconds]);
        say(
          `round ${round + 1}, ${size.perCall} a call, ${one.name}: ${Math.round((size.perCall * size.calls) / seconds)}/s`,
        );
      }
  client.release();

  const of = (name: string, perCall: number) => rates.get(`${name} ${perCall}`) ?? [];
  const ratio = (perCall: number, peer: string) => ratioOf(of('sendledger', perCall), of(peer, perCall));
  return {
    bench: 'enqueue',
    at: new Date().toISOString(),
    machine: await machineOf(pool, services.redis.url, loadBefore),
    loadAfter: loadNow(),
    options: { rounds: options.rounds },
    tables: [
      {
        title: 'Messages a second, in the caller’s transaction, median of the rounds',
        head: ['a call', ...contestants.map((one) => one.name), 'ours / pg-boss', 'ours / graphile-worker'],
        rows: SIZES.map(({ perCall }) => [
          String(perCall),
          ...contestants.map((one) => Math.round(median(of(one.name, perCall)))),
          ratio(perCall, 'pg-boss'),
          ratio(perCall, 'graphile-worker'),
        ]),
      },
    ],
    bars: [
      { what: '1 000 a call, over pg-boss', measured: ratio(1_000, 'pg-boss'), atLeast: 1.2 },
      { what: '1 000 a call, over graphile-worker', measured: ratio(1_000, 'graphile-worker'), atLeast: 0.5 },
      { what: 'one a call, over pg-boss', measured: ratio(1, 'pg-boss'), atLeast: 1.5 },
      { what: 'one a call, over graphile-worker', measured: ratio(1, 'graphile-worker'), atLeast: 0.75 },
    ],
  };
}

type Contestant = Pick<Peer, 'name'> & {
  enqueue(tx: pg.PoolClient, from: number, count: number): Promise<void>;
};

function ourselves(producer: Producer): Contestant {
  return {
    name: 'sendledger',
    enqueue: async (tx, from, count) => {
      const run = randomUUID();
      const messages = Array.from({ length: count }, (_, i) => ({
        class: 'transactional' as const,
        to: `+9198${String(10_000_000 + from + i)}`,
        event: { type: 'order', id: `${run}-${i}` },
        body: textOf(from + i),
      }));
      await producer.enqueue(tx, messages);
    },
  };
}

function contestantOf(one: Contestant | Peer): Contestant {
  if ('enqueue' in one) return one;
  return {
    name: one.name,
    enqueue: (tx, from, count) =>
      count === 1
        ? one.enqueueOne(tx, payloadOf(from))
        : one.enqueueMany(
            tx,
            Array.from({ length: count }, (_, i) => payloadOf(from + i)),
          ),
  };
}

/** Each round begins with another one. */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const first = ((round % all.length) + all.length) % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

async function measure(client: pg.PoolClient, one: Contestant | Peer, perCall: number, calls: number): Promise<number> {
  const contestant = contestantOf(one);
  const began = performance.now();
  for (let call = 0; call < calls; call++) {
    await client.query('begin');
    await contestant.enqueue(client, call * perCall, perCall);
    await client.query('commit');
  }
  return (performance.now() - began) / 1_000;
}
