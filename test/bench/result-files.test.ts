import { expect, test } from 'vitest';
import { spreadOf } from './percentiles.ts';
import { median, ratioOf } from './ratios.ts';
import type { BenchResult } from './report.ts';
import { markdownOf } from './result-files.ts';

const RESULT: BenchResult = {
  bench: 'claim',
  at: '2026-11-30T20:00:00.000Z',
  machine: {
    cores: 2,
    processor: 'a processor',
    memoryGiB: 24,
    node: 'v24.21.0',
    postgres: '18.4 (fsync on)',
    redis: '7.0.15',
    loadBefore: 0.5,
  },
  loadAfter: 3,
  options: { rounds: 3 },
  tables: [{ title: 'A table', head: ['what', 'ms'], rows: [['one | two', 1.234]] }],
  bars: [
    { what: 'pages', measured: 1.05, atMost: 1.2 },
    { what: 'messages', measured: 0.5, atLeast: 1 },
  ],
};

test('a result as a page: the machine, the tables, and which bars were missed', () => {
  const page = markdownOf(RESULT);
  expect(page).toContain(
    '2 cores (a processor), 24 GiB; Node v24.21.0; Postgres 18.4 (fsync on); Redis 7.0.15; load 0.5 → 3.',
  );
  expect(page).toContain('| what | ms |\n| --- | ---: |\n| one \\| two | 1.23 |');
  expect(page).toContain('| pages | 1.05 | at most 1.2 | met |');
  expect(page).toContain('| messages | 0.50 | at least 1 | **missed** |');
});

test('percentiles are values that were measured, and ratios are of the same round', () => {
  expect(spreadOf([5, 1, 4, 2, 3])).toEqual({ samples: 5, p50: 3, p99: 5, max: 5 });
  expect(median([4, 1, 3, 2])).toBe(2);
  // A machine that was slow for a round was slow for both.
  expect(ratioOf([10, 1, 20], [20, 2, 40])).toBe(0.5);
});
