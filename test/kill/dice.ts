import { createHash } from 'node:crypto';

/** The same seed and words give the same number in [0, 1), in every run and in whatever order cells are run. */
export function dice(seed: number, ...words: readonly (string | number)[]): number {
  return (
    createHash('sha256')
      .update([seed, ...words].join('\n'))
      .digest()
      .readUInt32BE() /
    2 ** 32
  );
}

/** Whole, from 0 to `below` - 1. */
export function pick(below: number, seed: number, ...words: readonly (string | number)[]): number {
  return Math.floor(dice(seed, ...words) * below);
}

/** In an order that the seed decides. */
export function shuffled<Item>(items: readonly Item[], seed: number, name: (item: Item) => string): Item[] {
  return items
    .map((item) => ({ item, place: dice(seed, 'order', name(item)) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
