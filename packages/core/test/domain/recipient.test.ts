import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normaliseRecipient, type RecipientFault } from '../../src/domain/recipient.ts';

describe('numbers as people write them', () => {
  test.each<[input: string, region: string | undefined, number: string, country: string | null, kind: string]>([
    ['+919876543210', undefined, '919876543210', 'IN', 'mobile'],
    ['+91 98765 43210', undefined, '919876543210', 'IN', 'mobile'],
    [' +91-98765-43210\n', undefined, '919876543210', 'IN', 'mobile'],
    ['＋919876543210', undefined, '919876543210', 'IN', 'mobile'],
    ['9876543210', 'IN', '919876543210', 'IN', 'mobile'],
    ['9876543210', 'in', '919876543210', 'IN', 'mobile'],
    ['09876543210', 'IN', '919876543210', 'IN', 'mobile'],
    ['919876543210', 'IN', '919876543210', 'IN', 'mobile'],
    ['919876543210', undefined, '919876543210', 'IN', 'mobile'],
    ['00919876543210', 'IN', '919876543210', 'IN', 'mobile'],
    ['00919876543210', undefined, '919876543210', 'IN', 'mobile'],
    ['0712345678', 'KE', '254712345678', 'KE', 'mobile'],
    ['000254712345678', 'KE', '254712345678', 'KE', 'mobile'],
    ['00254712345678', 'KE', '254712345678', 'KE', 'mobile'],
    ['00919876543210', 'AU', '919876543210', 'IN', 'mobile'],
    ['٠٧١٢٣٤٥٦٧٨', 'KE', '254712345678', 'KE', 'mobile'],
    ['+٢٥٤٧١٢٣٤٥٦٧٨', undefined, '254712345678', 'KE', 'mobile'],
    ['+254 20 2222222', undefined, '254202222222', 'KE', 'landline'],
    ['+441212345678', undefined, '441212345678', 'GB', 'landline'],
    ['+1 (415) 555-2671', undefined, '14155552671', 'US', 'either'],
    ['4155552671', 'US', '14155552671', 'US', 'either'],
    ['+18005551234', undefined, '18005551234', 'US', 'other'],
    ['+80012345678', undefined, '80012345678', null, 'other'],
    ['+390612345678', undefined, '390612345678', 'IT', 'landline'],
    // Begins with its own country code and is a mobile number all the same.
    ['+919191919191', undefined, '919191919191', 'IN', 'mobile'],
    ['9191919191', 'IN', '919191919191', 'IN', 'mobile'],
    // A stored German mobile is also a possible landline 0491 51…: the country code must not be put before it again.
    ['4915123456789', 'DE', '4915123456789', 'DE', 'mobile'],
  ])('%s in %s', (input, defaultRegion, number, country, kind) => {
    expect(normaliseRecipient(input, { defaultRegion })).toEqual({ ok: true, number, country, kind });
  });
});

describe('faults', () => {
  test.each<[input: string, region: string | undefined, reason: RecipientFault]>([
    ['', 'IN', 'empty'],
    ['  \t', 'IN', 'empty'],
    ['abc', 'IN', 'not_a_number'],
    ['abc', undefined, 'not_a_number'],
    ['call me on 0712345678', 'KE', 'not_a_number'],
    ['+919876543210,+919876543211', undefined, 'not_a_number'],
    ['tel:+919876543210', undefined, 'not_a_number'],
    ['+91\u202a9876543210', undefined, 'not_a_number'],
    ['+14155552671 ext 5', undefined, 'extension'],
    ['+14155552671x5', undefined, 'extension'],
    ['+14155552671#5', undefined, 'extension'],
    ['+91919876543210', undefined, 'doubled_country_code'],
    ['+91 91 98765 43210', 'IN', 'doubled_country_code'],
    ['91919876543210', 'IN', 'doubled_country_code'],
    ['+9191919876543210', undefined, 'doubled_country_code'],
    ['+254254712345678', undefined, 'doubled_country_code'],
    ['+494915123456789', undefined, 'doubled_country_code'],
    ['+9', undefined, 'too_short'],
    ['+9198765', undefined, 'too_short'],
    ['+9199999999999999999', undefined, 'too_long'],
    [`+91${'9'.repeat(1_000_000)}`, undefined, 'too_long'],
    ['+999123456789', undefined, 'invalid'],
    ['+910876543210', undefined, 'invalid'],
    ['9876543210', undefined, 'no_region'],
    ['0712345678', undefined, 'no_region'],
    ['0712345678', 'XX', 'no_region'],
    ['40404', 'IN', 'too_short'],
  ])('%.40s in %s: %s', (input, defaultRegion, reason) => {
    expect(normaliseRecipient(input, { defaultRegion })).toEqual({ ok: false, reason });
  });
});

const written = fc
  .tuple(
    fc.constantFrom(
      ['91', '98765'],
      ['91', '70000'],
      ['254', '7123'],
      ['44', '79111'],
      ['1', '41555'],
      ['49', '15123'],
      ['65', '98'],
      ['55', '119'],
      ['61', '4'],
    ),
    fc.stringMatching(/^[0-9]{3,9}$/),
    fc.constantFrom('+', '00', '', '+ ', '('),
  )
  .map(([[code, head], tail, lead]) => `${lead}${code} ${head}${tail}`);

const region = fc.constantFrom(undefined, 'IN', 'KE', 'GB', 'US', 'DE', 'SG', 'BR', 'AU');

describe('normalising again', () => {
  test('with its plus a result is unchanged in every region', () => {
    fc.assert(
      fc.property(
        fc.oneof(written, fc.string(), fc.stringMatching(/^\+?[0-9]{4,16}$/)),
        region,
        region,
        (input, first, second) => {
          const once = normaliseRecipient(input, { defaultRegion: first });
          fc.pre(once.ok);
          expect(normaliseRecipient(`+${once.number}`, { defaultRegion: second })).toEqual(once);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test('without a plus a result is unchanged, in its own region or where there is none', () => {
    fc.assert(
      fc.property(fc.oneof(written, fc.stringMatching(/^\+?[0-9]{4,16}$/)), region, (input, defaultRegion) => {
        const once = normaliseRecipient(input, { defaultRegion });
        fc.pre(once.ok && (defaultRegion === undefined || once.country === defaultRegion));
        expect(normaliseRecipient(once.number, { defaultRegion })).toEqual(once);
      }),
      { numRuns: 3000 },
    );
  });

  test('never raises, and never returns anything but digits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), region, (input, defaultRegion) => {
        const read = normaliseRecipient(input, { defaultRegion });
        if (read.ok) expect(read.number).toMatch(/^[1-9][0-9]{3,14}$/);
      }),
    );
  });
});
