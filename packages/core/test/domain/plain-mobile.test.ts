import fc from 'fast-check';
import { getCountries, getCountryCallingCode, getExampleNumber } from 'libphonenumber-js/max';
import examples from 'libphonenumber-js/mobile/examples';
import { describe, expect, test } from 'vitest';
import { readPlainMobile } from '../../src/domain/plain-mobile.ts';
import { readWithLibrary } from '../../src/domain/recipient.ts';

/** The short way says what the library says, or nothing. */
function agrees(text: string): boolean {
  const short = readPlainMobile(text);
  if (short !== undefined) expect(readWithLibrary(text, undefined)).toEqual({ ok: true, ...short, kind: 'mobile' });
  return short !== undefined;
}

describe('the short way to a mobile number', () => {
  test('every number that differs in one digit from an example of any country', () => {
    let taken = 0;
    for (const country of getCountries()) {
      const example = getExampleNumber(country, examples)?.number;
      if (example === undefined) continue;
      for (let at = 1; at < example.length; at++)
        for (const digit of '0123456789')
          if (agrees(`${example.slice(0, at)}${digit}${example.slice(at + 1)}`)) taken += 1;
    }
    expect(taken).toBeGreaterThan(5_000);
  });

  test('digits at random behind the code of any country, their own code or prefix before them or not', () => {
    const numbers = fc.record({
      country: fc.constantFrom(...getCountries()),
      before: fc.constantFrom('', '0', '00', '1', '8', 'code'),
      digits: fc.stringMatching(/^[0-9]{4,13}$/),
    });
    fc.assert(
      fc.property(numbers, ({ country, before, digits }) => {
        const code = getCountryCallingCode(country);
        agrees(`+${code}${before === 'code' ? code : before}${digits}`);
      }),
      { numRuns: 20_000 },
    );
  });

  test('it reads a plus and digits, and nothing else', () => {
    for (const text of ['919876543210', '+91 9876543210', '+0919876543210', '+91987654321x', '+', '', '+14155552671'])
      expect(readPlainMobile(text), text).toBeUndefined();
    expect(readPlainMobile('+919876543210')).toEqual({ number: '919876543210', country: 'IN' });
    expect(readPlainMobile('+254712345678')).toEqual({ number: '254712345678', country: 'KE' });
  });
});
