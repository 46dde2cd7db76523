import { expect, test } from 'vitest';
import { BENCHES, readOptions, USAGE } from './options.ts';

test('without a name all are wanted, in turn, each with its own presets', () => {
  const all = readOptions(['--rounds', '4']);
  if (all === 'help') throw new Error('no help was asked for');
  expect(all.map(({ bench }) => bench)).toEqual(BENCHES);
  expect(new Set(all.map(({ rounds }) => rounds))).toEqual(new Set([4]));
  expect(all.find(({ bench }) => bench === 'rate')).toMatchObject({
    rate: 50,
    submitWorkers: 4,
    out: null,
    profile: null,
  });
  expect(all.find(({ bench }) => bench === 'claim')).toMatchObject({ backlog: 1_000_000, part: 'all' });
});

test('the lengths of the past are a list', () => {
  expect(readOptions(['claim', '--part', 'history', '--history', '1000,2000'])).toMatchObject([
    { bench: 'claim', part: 'history', history: [1_000, 2_000] },
  ]);
});

test.each([
  [['speed'], 'name one of'],
  [['claim', 'life'], 'name one of'],
  [['claim', '--part', 'all-of-it'], '--part takes'],
  [['claim', '--history', '1000,'], '--history takes a whole number'],
  [['rate', '--rate', '0'], '--rate takes a whole number'],
  [['rate', '--faster'], 'faster'],
])('%j cannot be meant', (args, says) => {
  expect(() => readOptions(args)).toThrow(says);
});

test('every benchmark is in the help', () => {
  for (const bench of BENCHES) expect(USAGE).toContain(`\n  ${bench} `);
});
