import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
// By path: this package has no dependency on the local servers.
import { test } from '../../../../infra/local/src/fixtures.ts';
import { createLog } from '../../src/log.ts';
import { type BucketShape, LocalBucket } from '../../src/rate/bucket.ts';
import { RedisBuckets } from '../../src/rate/redis-bucket.ts';

const LIMITS = [0, 1, 10, 59, 61];
const HOURS = 3;
const MINUTE_US = 60e6;

/** Burst in proportion, and one token at least, as a route has it. */
const shapeOf = (perMinute: number): BucketShape => ({
  rate: perMinute / 60,
  burst: Math.max(1, perMinute / 120),
});

const ASK_EVERY_US = 250_000;

describe('limits a minute, over simulated hours (FC-40)', () => {
  for (const perMinute of LIMITS)
    test(`${perMinute}: to the token, and in each minute as many, fractions carried over`, () => {
      let nowUs = 0;
      const bucket = new LocalBucket(() => nowUs);
      // Two tokens: one that waits to be asked for does not stand in the way of the next.
      const shape = { rate: perMinute / 60, burst: 2 };
      const passed: number[] = [];
      for (let minute = 0; minute < HOURS * 60; minute++) {
        let granted = 0;
        for (let asked = 0; asked < MINUTE_US / ASK_EVERY_US; asked++) {
          granted += bucket.take(shape, 100, 0).granted;
          nowUs += ASK_EVERY_US;
        }
        passed.push(granted);
      }
      // The last instant belongs to the span.
      const all = passed.reduce((sum, n) => sum + n, 0) + bucket.take(shape, 100, 0).granted;
      expect(all).toBe(perMinute * 60 * HOURS);
      expect(Math.max(...passed)).toBeLessThanOrEqual(perMinute + 1);
      expect(Math.min(...passed)).toBeGreaterThanOrEqual(perMinute - 1);
    });

  for (const perMinute of LIMITS.filter((limit) => limit > 0))
    test(`${perMinute}: whoever comes back when told to, to the millisecond, gets all but a thousandth`, () => {
      let nowUs = 0;
      const bucket = new LocalBucket(() => nowUs);
      let granted = 0;
      for (let waitMs = 0; nowUs <= HOURS * 60 * MINUTE_US; nowUs += waitMs * 1_000) {
        const taken = bucket.take(shapeOf(perMinute), 100, 0);
        granted += taken.granted;
        waitMs = taken.waitMs;
      }
      expect(granted).toBeLessThanOrEqual(perMinute * 60 * HOURS);
      expect(granted).toBeGreaterThanOrEqual(Math.floor(perMinute * 60 * HOURS * 0.999));
    });

  for (const perMinute of LIMITS)
    test(`${perMinute}: after an hour in which nobody asked, the burst and not an hour's worth`, () => {
      let nowUs = 0;
      const bucket = new LocalBucket(() => nowUs);
      const shape = shapeOf(perMinute);
      bucket.take(shape, 1, 0);
      nowUs += 60 * MINUTE_US;
      expect(bucket.take(shape, 1_000, 0).granted).toBe(perMinute === 0 ? 0 : Math.floor(shape.burst));
      expect(bucket.take(shape, 1_000, 0).granted).toBe(0);
    });

  test('the bucket in Redis gives the same, ask by ask, over an hour of each limit', async ({ redisUrl }) => {
    const buckets = new RedisBuckets(redisUrl, createLog('test', 'silent', 'test'));
    const redis = new Redis(redisUrl);
    while (!buckets.up) await new Promise((resolve) => setTimeout(resolve, 5));
    const stepUs = 20e6;
    for (const perMinute of LIMITS) {
      const shape = shapeOf(perMinute);
      const at = `sendledger:rate:${randomUUID()}`;
      let nowUs = 0;
      const bucket = new LocalBucket(() => nowUs);
      let [here, there] = [bucket.take(shape, 100, 0).granted, (await buckets.take(at, shape, 100, 0)).granted];
      let furthest = Math.abs(here - there);
      for (let step = 0; step < 180; step++) {
        nowUs += stepUs;
        // Its clock is the server's. What it remembers is an instant, so setting that back is letting time pass.
        if (perMinute > 0) await redis.hincrbyfloat(at, 'tat', -stepUs);
        here += bucket.take(shape, 100, 0).granted;
        there += (await buckets.take(at, shape, 100, 0)).granted;
        furthest = Math.max(furthest, Math.abs(here - there));
      }
      // What really passed meanwhile is in the one and not in the other: of these limits it is a token or so.
      expect(furthest).toBeLessThanOrEqual(3);
      if (perMinute === 0) expect(there).toBe(0);
      else expect(there).toBeGreaterThan(0);
    }
    buckets.close();
    redis.disconnect();
  });
});
