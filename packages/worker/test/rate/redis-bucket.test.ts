import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
// By path: this package has no dependency on the local servers.
import { test } from '../../../../infra/local/src/fixtures.ts';
import { createLog } from '../../src/log.ts';
import { RedisBuckets } from '../../src/rate/redis-bucket.ts';

const log = createLog('test', 'silent', 'test');
const key = () => `sendledger:rate:${randomUUID()}`;

async function ready(url: string): Promise<RedisBuckets> {
  const buckets = new RedisBuckets(url, log);
  while (!buckets.up) await new Promise((resolve) => setTimeout(resolve, 5));
  return buckets;
}

/** Takes until a full bucket is there: a new one is empty. */
async function filled(
  buckets: RedisBuckets,
  at: string,
  redis: Redis,
  shape: { rate: number; burst: number },
): Promise<void> {
  await buckets.take(at, shape, 0, 0);
  await redis.hset(at, 'tat', '0');
}

describe('the bucket in Redis', () => {
  test('a full one gives its burst at once, to whoever asks first, and not one more', async ({ redisUrl }) => {
    const all = await Promise.all(Array.from({ length: 4 }, () => ready(redisUrl)));
    const redis = new Redis(redisUrl);
    const at = key();
    const shape = { rate: 0.01, burst: 20 };
    const [first] = all;
    if (first === undefined) throw new Error('no client');
    await filled(first, at, redis, shape);
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => all[i % 4]?.take(at, shape, 3, 0)));
    expect(answers.reduce((sum, a) => sum + (a?.granted ?? 0), 0)).toBe(20);
    await first.giveBack(at, 7);
    expect((await first.take(at, shape, 50, 0)).granted).toBe(7);
    for (const buckets of all) buckets.close();
    redis.disconnect();
  });

  test('keeps back what is kept for codes', async ({ redisUrl }) => {
    const buckets = await ready(redisUrl);
    const redis = new Redis(redisUrl);
    const at = key();
    const shape = { rate: 0.01, burst: 20 };
    await filled(buckets, at, redis, shape);
    expect((await buckets.take(at, shape, 50, 5)).granted).toBe(15);
    expect((await buckets.take(at, shape, 50, 5)).granted).toBe(0);
    expect((await buckets.take(at, shape, 50, 0)).granted).toBe(5);
    buckets.close();
    redis.disconnect();
  });

  test('flushed, it is empty and not full again', async ({ redisUrl }) => {
    const buckets = await ready(redisUrl);
    const redis = new Redis(redisUrl);
    const at = key();
    const shape = { rate: 0.01, burst: 20 };
    await filled(buckets, at, redis, shape);
    await buckets.take(at, shape, 20, 0);
    await redis.del(at);
    expect((await buckets.take(at, shape, 20, 0)).granted).toBe(0);
    buckets.close();
    redis.disconnect();
  });

  test('rate 0 asks nobody', async ({ redisUrl }) => {
    const buckets = await ready(redisUrl);
    expect(await buckets.take(key(), { rate: 0, burst: 1 }, 5, 0)).toEqual({
      granted: 0,
      waitMs: Number.POSITIVE_INFINITY,
    });
    buckets.close();
  });
});
