import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { expect } from 'vitest';
import {
  beatWithHoldings,
  beatWorker,
  endWorker,
  registerWorker,
  rowsOf,
  sharedInstances,
} from '../../src/ledger/index.ts';

const holdsFor = async (pool: pg.Pool, id: string) =>
  (
    await rowsOf<{ seconds: number | null }>(
      pool,
      'select extract(epoch from holds_said_at - holds_from)::double precision as seconds from sendledger.worker where id = $1',
      [id],
    )
  )[0]?.seconds;

test('what a process holds is at least as old as it says, however long its beat waited for a connection', async ({
  database: { pool },
}) => {
  const worker = await registerWorker(pool, 'submit', randomUUID());
  await beatWithHoldings(pool, worker.id, 5_000);
  expect(await holdsFor(pool, worker.id)).toBeCloseTo(65, 3);
  await beatWithHoldings(pool, worker.id, 0);
  expect(await holdsFor(pool, worker.id)).toBeCloseTo(60, 3);
  await beatWithHoldings(pool, worker.id, null);
  expect(await holdsFor(pool, worker.id)).toBeNull();
});

test('two living processes of one name are seen; one after the other, crashed or ended, is not, nor another app', async ({
  freshDatabase: { pool },
}) => {
  const crashed = await registerWorker(pool, 'submit', 'a');
  await beatWorker(pool, crashed.id);
  const ended = await registerWorker(pool, 'submit', 'a');
  await endWorker(pool, ended.id);
  await registerWorker(pool, 'claim', 'a');
  const first = await registerWorker(pool, 'submit', 'a');
  await beatWorker(pool, first.id);
  expect(await sharedInstances(pool)).toEqual([]);
  await registerWorker(pool, 'submit', 'a');
  // The clean end of one that was declared ended says nothing new.
  await endWorker(pool, first.id);
  expect(await sharedInstances(pool)).toEqual([]);
  await beatWorker(pool, first.id);
  expect(await sharedInstances(pool)).toEqual([{ app: 'submit', instance: 'a', overlapping: 1 }]);
  await pool.query(
    `update sendledger.worker set started_at = started_at - interval '2 days', last_seen_at = last_seen_at - interval '2 days'`,
  );
  expect(await sharedInstances(pool)).toEqual([]);
});
