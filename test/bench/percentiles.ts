export interface Spread {
  readonly samples: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Of a few values the 99th percentile is the largest: nearest rank, never between two. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { samples: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}
