import { describe, expect, it } from 'vitest';
import { Batcher } from '../src/batcher.ts';

describe('a batcher', () => {
  it('has one flight at a time and takes all that waited with the next', async () => {
    const flights: number[][] = [];
    const landings: (() => void)[] = [];
    const batcher = new Batcher<number>(
      3,
      () => 1,
      (items) => {
        flights.push(items);
        return new Promise((resolve) => landings.push(resolve));
      },
    );
    const all = Promise.all([1, 2, 3, 4, 5, 6].map((n) => batcher.add(n)));
    expect(flights).toEqual([[1]]);
    for (let n = 0; n < 3; n++) {
      landings[n]?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await all;
    expect(flights).toEqual([[1], [2, 3, 4], [5, 6]]);
  });

  it('fills a flight by weight, and lets what is heavier than a flight go alone', async () => {
    const flights: number[][] = [];
    const batcher = new Batcher<number>(
      5,
      (weight) => weight,
      async (items) => {
        flights.push(items);
      },
    );
    await Promise.all([1, 2, 3, 9, 4, 1].map((weight) => batcher.add(weight)));
    expect(flights).toEqual([[1], [2, 3], [9], [4, 1]]);
  });

  it('tells each item of a flight that failed, and goes on with the next', async () => {
    let flight = 0;
    const batcher = new Batcher<string>(
      10,
      () => 1,
      async () => {
        flight++;
        if (flight === 1) throw new Error('lost');
      },
    );
    await expect(batcher.add('a')).rejects.toThrow('lost');
    await expect(batcher.add('b')).resolves.toBeUndefined();
  });
});
