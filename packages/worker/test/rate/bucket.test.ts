import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BucketShape, LocalBucket, takeTokens } from '../../src/rate/bucket.ts';
import { type FleetView, ownShare, redisShare } from '../../src/rate/share.ts';

/** Asks on and on over simulated time, and answers when tokens were granted, in seconds. */
function grants(shape: BucketShape, seconds: number, asks: readonly { afterMs: number; wanted: number }[]): number[] {
  let nowUs = 0;
  const bucket = new LocalBucket(() => nowUs);
  const at: number[] = [];
  for (let i = 0; nowUs < seconds * 1e6; i++) {
    const ask = asks[i % asks.length] ?? { afterMs: 1, wanted: 1 };
    const { granted } = bucket.take(shape, ask.wanted, 0);
    for (let n = 0; n < granted; n++) at.push(nowUs / 1e6);
    nowUs += Math.max(1, ask.afterMs) * 1_000;
  }
  return at;
}

/** The most grants in any span of this length. */
function mostWithin(at: readonly number[], span: number): number {
  let most = 0;
  for (let from = 0, to = 0; from < at.length; from++) {
    while (to < at.length && (at[to] ?? 0) - (at[from] ?? 0) <= span) to++;
    most = Math.max(most, to - from);
  }
  return most;
}

const shapes = fc.record({
  rate: fc.double({ min: 0.05, max: 500, noNaN: true }),
  burst: fc.double({ min: 1, max: 50, noNaN: true }),
});
const asks = fc.array(
  fc.record({ afterMs: fc.integer({ min: 1, max: 400 }), wanted: fc.integer({ min: 1, max: 40 }) }),
  { minLength: 1, maxLength: 20 },
);

describe('a token bucket', () => {
  test('grants at most rate × span + burst in any span, however it is asked (FC-40)', () => {
    fc.assert(
      fc.property(shapes, asks, fc.constantFrom(0.1, 0.3, 1, 7), (shape, how, span) => {
        const at = grants(shape, 20, how);
        expect(mostWithin(at, span)).toBeLessThanOrEqual(Math.floor(shape.rate * span + shape.burst + 1e-6));
      }),
      { numRuns: 60 },
    );
  });

  // The limits of FC-40: an integer refill lost everything under sixty a minute.
  for (const perMinute of [0, 1, 10, 59, 61, 3_000])
    test(`${perMinute} a minute over two simulated hours: neither more nor noticeably less (FC-40)`, () => {
      const shape = { rate: perMinute / 60, burst: Math.max(1, perMinute / 120) };
      const at = grants(shape, 7_200, [{ afterMs: 20, wanted: 50 }]);
      expect(at.length).toBeLessThanOrEqual(perMinute * 120 + shape.burst);
      expect(at.length).toBeGreaterThanOrEqual(Math.floor(perMinute * 120 * 0.98) - 1);
    });

  test('burst follows the rate: a small limit has no large burst (FC-40)', () => {
    const at = grants({ rate: 10 / 60, burst: 1 }, 600, [{ afterMs: 20, wanted: 1_000 }]);
    expect(mostWithin(at, 1)).toBe(1);
  });

  test('a fixed window would let nineteen of ten through at its edge; this lets no more than limit and burst', () => {
    const at = grants({ rate: 10, burst: 5 }, 30, [{ afterMs: 1, wanted: 1 }]);
    expect(mostWithin(at, 0.3)).toBeLessThanOrEqual(8);
  });

  test('says when the next token is there, to the millisecond', () => {
    fc.assert(
      fc.property(shapes, fc.integer({ min: 1, max: 60 }), (shape, wanted) => {
        const first = takeTokens(0, 1e9, shape, wanted, 0);
        if (first.granted === wanted) return;
        const early = takeTokens(first.tat, 1e9 + (first.waitMs - 2) * 1_000, shape, 1, 0);
        const then = takeTokens(first.tat, 1e9 + (first.waitMs + 1) * 1_000, shape, 1, 0);
        if (first.waitMs > 3) expect(early.granted).toBe(0);
        expect(then.granted).toBe(1);
      }),
    );
  });

  test('what is given back can be taken again, and no more than that', () => {
    fc.assert(
      fc.property(shapes, fc.integer({ min: 1, max: 60 }), (shape, wanted) => {
        let nowUs = 0;
        const bucket = new LocalBucket(() => nowUs);
        bucket.take(shape, 0, 0);
        nowUs = 1e12;
        const first = bucket.take(shape, wanted, 0);
        bucket.giveBack(first.granted);
        expect(bucket.take(shape, wanted, 0).granted).toBe(first.granted);
      }),
    );
  });

  test('two shares of one bucket side by side, one of which gives all back: never more than the larger may send', () => {
    const share = fc.record({
      part: fc.double({ min: 0.1, max: 1, noNaN: true }),
      wanted: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(share, share, fc.integer({ min: 0, max: 50 })), { minLength: 5, maxLength: 200 }),
        (steps) => {
          const whole = { rate: 100, burst: 50 };
          let nowUs = 0;
          const bucket = new LocalBucket(() => nowUs);
          bucket.take(whole, 0, 0);
          nowUs = 1e7;
          const from = nowUs;
          let sent = 0;
          for (const [borrowed, used, ms] of steps) {
            const part = { rate: 100 * borrowed.part, burst: Math.max(1, 50 * borrowed.part) };
            const { granted } = bucket.take(part, borrowed.wanted, 0);
            sent += bucket.take({ rate: 100 * used.part, burst: Math.max(1, 50 * used.part) }, used.wanted, 0).granted;
            bucket.giveBack(granted);
            nowUs += ms * 1_000;
            expect(sent).toBeLessThanOrEqual(100 * ((nowUs - from) / 1e6) + 50 + 1);
          }
        },
      ),
    );
  });

  test('a request that cannot be cut is lent what a full bucket lacks, and no more than the rate is sent in the long run', () => {
    let nowUs = 0;
    const bucket = new LocalBucket(() => nowUs);
    const shape = { rate: 20, burst: 3 };
    let sent = 0;
    let asked = 0;
    for (let ms = 0; ms <= 100_000; asked++) {
      nowUs = ms * 1_000;
      const { granted, waitMs } = bucket.take(shape, 40, 2, 7);
      if (granted > 0) expect(granted % 7 === 0 || granted >= 7).toBe(true);
      sent += granted;
      ms += Math.max(1, waitMs);
    }
    expect(sent).toBeLessThanOrEqual(20 * 100 + 7);
    expect(sent).toBeGreaterThan(20 * 100 * 0.9);
    // It is not asked a thousand times for what is not there.
    expect(asked).toBeLessThan(400);
  });

  test('a clock that was set back by an hour holds nothing up for longer than a few buckets', () => {
    let nowUs = 3_600e6;
    const bucket = new LocalBucket(() => nowUs);
    const shape = { rate: 50, burst: 25 };
    bucket.take(shape, 25, 0);
    nowUs = 0;
    bucket.take(shape, 1, 0);
    nowUs = 17e6;
    expect(bucket.take(shape, 1, 0).granted).toBe(1);
  });

  test('what is kept for codes is there for them while a campaign takes all it can get', () => {
    let nowUs = 0;
    const bucket = new LocalBucket(() => nowUs);
    const shape = { rate: 50, burst: 20 };
    for (let ms = 0; ms < 10_000; ms++) {
      nowUs = ms * 1_000;
      bucket.take(shape, 100, 5);
      if (ms > 1_000 && ms % 500 === 0) expect(bucket.take(shape, 4, 0).granted).toBe(4);
    }
  });

  test('begins empty: what is remembered nowhere may just have been spent', () => {
    const bucket = new LocalBucket(() => 0);
    expect(bucket.take({ rate: 10, burst: 5 }, 5, 0)).toEqual({ granted: 0, waitMs: 100 });
  });

  test('rate 0 passes nothing', () => {
    expect(new LocalBucket(() => 1e12).take({ rate: 0, burst: 5 }, 5, 0)).toEqual({
      granted: 0,
      waitMs: Number.POSITIVE_INFINITY,
    });
  });
});

describe('shares of a fleet', () => {
  const fleets = fc
    .integer({ min: 1, max: 40 })
    .chain((processes) =>
      fc.record({ processes: fc.constant(processes), onRedis: fc.integer({ min: 0, max: processes }) }),
    );
  const views = ({ processes, onRedis }: { processes: number; onRedis: number }): FleetView[] =>
    Array.from({ length: processes - onRedis }, (_, place) => ({ processes, onRedis, place }));

  test('the sum of all shares is never more than the rate, and is the rate where everybody has a share', () => {
    fc.assert(
      fc.property(shapes, fleets, (route, fleet) => {
        const shared = fleet.onRedis > 0 ? redisShare(route, { ...fleet, place: null }) : { rate: 0, burst: 0 };
        const own = views(fleet).map((view) => ownShare(route, view));
        const rate = shared.rate + own.reduce((sum, s) => sum + s.rate, 0);
        expect(rate).toBeLessThanOrEqual(route.rate * (1 + 1e-9));
        expect(rate).toBeGreaterThanOrEqual(route.rate * (1 - 1e-9));
      }),
    );
  });

  test('the sum of all bursts is the burst, and at most one token more where a part of it is smaller than one', () => {
    fc.assert(
      fc.property(shapes, fleets, (route, fleet) => {
        const shared = fleet.onRedis > 0 ? redisShare(route, { ...fleet, place: null }).burst : 0;
        const own = views(fleet).reduce((sum, view) => sum + ownShare(route, view).burst, 0);
        expect(shared + own).toBeLessThanOrEqual(route.burst + 1 + 1e-9);
      }),
    );
  });
});
