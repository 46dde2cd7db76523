/** The middle one of measurements; of an even number the lower of the two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

/** Ours over theirs, round by round, and the middle of that: what else the machine does touches both of a round alike. */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((one, round) => one / (theirs[round] ?? Number.NaN)));
}
