import { describe, expect, test } from 'vitest';
import { canonicalMobile } from '../src/mobile-numbers.ts';
import { formatAmount, parseAmount } from '../src/money.ts';
import { countUnits } from '../src/units.ts';

describe('segments', () => {
  test.each([
    ['', 'text', 1],
    ['x'.repeat(160), 'text', 1],
    ['x'.repeat(161), 'text', 2],
    ['x'.repeat(306), 'text', 2],
    ['x'.repeat(307), 'text', 3],
    ['{'.repeat(80), 'text', 1],
    ['{'.repeat(81), 'text', 2],
    // An escape would be split over the border of the first part, so it moves to the second.
    [`${'x'.repeat(152)}{${'x'.repeat(151)}`, 'text', 2],
    [`${'x'.repeat(152)}{${'x'.repeat(152)}`, 'text', 3],
    ['अ'.repeat(70), 'unicode', 1],
    ['अ'.repeat(71), 'unicode', 2],
    ['अ'.repeat(134), 'unicode', 2],
    ['अ'.repeat(135), 'unicode', 3],
    ['😀'.repeat(35), 'unicode', 1],
    ['😀'.repeat(66), 'unicode', 2],
    // 33 pairs fill 66 places of 67: the 67th pair needs a third part although 134 places would hold it.
    ['😀'.repeat(67), 'unicode', 3],
  ] as const)('%#: %s as %s', (text, msgType, units) => {
    expect(countUnits(text, msgType)).toBe(units);
  });
});

test('money is exact and has four decimals', () => {
  expect(parseAmount('0.12')).toBe(1200n);
  expect(parseAmount('999999999999.9999')).toBe(9_999_999_999_999_999n);
  expect(formatAmount(0n)).toBe('0.0000');
  expect(formatAmount(1_234_500n)).toBe('123.4500');
  expect(formatAmount(-1n)).toBe('-0.0001');
  for (const wrong of ['', '-1', '1.', '.5', '1.23456', '1e3', 'x'])
    expect(() => parseAmount(wrong)).toThrow(RangeError);
});

test('numbers get their country code, and what is none is none', () => {
  for (const written of ['9999999999', '09999999999', '919999999999', '+919999999999', ' 9999999999 ']) {
    expect(canonicalMobile(written)).toBe('919999999999');
  }
  expect(canonicalMobile('447700900123')).toBe('447700900123');
  for (const wrong of ['', 'abc', '12', '1234567890123456', '99999 99999']) expect(canonicalMobile(wrong)).toBeNull();
});
