import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { MESSAGE_CLASSES, type MessageClass } from '../../src/domain/state.ts';
import { claim, markNext, rowsOf, type Sql } from '../../src/ledger/index.ts';
import { claimRequest, markRequest } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

const limits = (sql: Sql, s: Scene, set: string) =>
  sql.query(`update sendledger.route set ${set} where id = $1`, [s.routeId]);

const many = (s: Scene, messageClass: MessageClass, count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ route: s.name, messageClass, recipient: `9190${10_000_000 + from + i}` }));

async function openSizes(sql: Sql, s: Scene, messageClass: MessageClass): Promise<number[]> {
  const rows = await rowsOf<{ size: number }>(
    sql,
    `select size from sendledger.submission where route_id = $1 and message_class = $2 and state = 'open' order by id`,
    [s.routeId, messageClass],
  );
  return rows.map((row) => row.size);
}

describe('a lane whose open submissions are at the bound', () => {
  for (const full of MESSAGE_CLASSES)
    test(`${full}: the other classes of its route are claimed, and it is not`, async ({ database: { pool } }) => {
      const s = await scene(pool, { maxBatch: 1 });
      await limits(pool, s, 'max_open_submissions = 2');
      for (const messageClass of MESSAGE_CLASSES) await enqueue(pool, many(s, messageClass, 4));
      expect(await claim(pool, claimRequest(s, full))).toMatchObject({ submissions: 2, more: true });
      expect(await claim(pool, claimRequest(s, full))).toMatchObject({ submissions: 0, rows: 0 });
      for (const other of MESSAGE_CLASSES.filter((c) => c !== full))
        expect(await claim(pool, claimRequest(s, other)), other).toMatchObject({ submissions: 2, rows: 2 });
      for (const messageClass of MESSAGE_CLASSES) expect(await openSizes(pool, s, messageClass)).toEqual([1, 1]);
      // A mark makes room again, in its own lane.
      await markNext(pool, markRequest(s, full, 1));
      for (const messageClass of MESSAGE_CLASSES)
        expect(await claim(pool, claimRequest(s, messageClass)), messageClass).toMatchObject({
          submissions: messageClass === full ? 1 : 0,
        });
    });

  test('another route is claimed too', async ({ database: { pool } }) => {
    const [a, b] = [await scene(pool, { maxBatch: 1 }), await scene(pool, { maxBatch: 1 })];
    await limits(pool, a, 'max_open_submissions = 1');
    await limits(pool, b, 'max_open_submissions = 1');
    await enqueue(pool, [...many(a, 'promotional', 2), ...many(b, 'promotional', 2)]);
    expect(await claim(pool, claimRequest(a, 'promotional'))).toMatchObject({ submissions: 1 });
    expect(await claim(pool, claimRequest(b, 'promotional'))).toMatchObject({ submissions: 1 });
  });
});

describe('a batch', () => {
  for (const [maxBatch, inFlight, rows, sizes] of [
    [500, 3, 10, [3, 3, 3, 1]],
    [500, 1, 3, [1, 1, 1]],
    [3, 500, 7, [3, 3, 1]],
    // A quarter of the rows on the wire is left to codes.
    [4, 4, 9, [3, 3, 3]],
  ] as const)
    test(`of at most ${maxBatch} with ${inFlight} rows on the wire: ${rows} rows make ${sizes.join(' + ')}`, async ({
      database: { pool },
    }) => {
      const s = await scene(pool, { maxBatch });
      await limits(pool, s, `max_in_flight_rows = ${inFlight}`);
      await enqueue(pool, many(s, 'transactional', rows));
      await claim(pool, claimRequest(s));
      expect(await openSizes(pool, s, 'transactional')).toEqual(sizes);
    });

  test('of one-time passwords is none, whatever the route allows', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 500 });
    await enqueue(pool, many(s, 'otp', 5));
    await claim(pool, claimRequest(s, 'otp'));
    expect(await openSizes(pool, s, 'otp')).toEqual([1, 1, 1, 1, 1]);
  });
});
