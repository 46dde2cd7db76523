import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import { test } from '../../src/fixtures.ts';

describe('one database a file', () => {
  test('is migrated, empty and writable', async ({ database }) => {
    expect((await database.pool.query('select * from thing')).rows).toEqual([]);
    await database.pool.query('insert into thing values (1)');
  });

  test('keeps what an earlier test of the file wrote', async ({ database }) => {
    expect((await database.pool.query('select * from thing')).rows).toEqual([{ id: 1 }]);
  });
});

describe('one database a test', () => {
  for (const round of [1, 2]) {
    test(`is empty in round ${round}`, async ({ freshDatabase, database }) => {
      expect(freshDatabase.name).not.toBe(database.name);
      expect((await freshDatabase.pool.query('select * from thing')).rows).toEqual([]);
      await freshDatabase.pool.query('insert into thing values (2)');
    });
  }
});

test('the Redis of a file is its own', async ({ redis, redisUrl }) => {
  expect(redisUrl).toBe(redis.url);
  const client = new Redis(redisUrl);
  expect(await client.incr('counter')).toBe(1);
  client.disconnect();
});
