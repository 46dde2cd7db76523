/** The same numbers in [0, 1) for the same seed. */
export function diceOf(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function shuffled<T>(items: readonly T[], dice: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: dice() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}
