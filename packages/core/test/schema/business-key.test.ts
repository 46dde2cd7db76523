import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { type BusinessKeyParts, businessKey } from '../../src/domain/business-key.ts';
import { rowsOf } from '../../src/ledger/index.ts';
import { only } from '../ledger/on-the-way.ts';

/** Text as it comes: letters of all planes, the separators of the encoding itself, the empty text; no NUL, no half character. */
const text = fc
  .oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.string({
      unit: fc.constantFrom('|', ':', '-', '0', '1', 'a', 'é', '𝒳', 'ß', '\u0301', ' ', '\n'),
      maxLength: 12,
    }),
  )
  .filter((s) => s.isWellFormed() && !s.includes('\0'));
const optional = fc.option(text, { nil: undefined });

const parts: fc.Arbitrary<BusinessKeyParts> = fc.record({
  tenantId: text,
  eventType: text,
  eventId: text,
  recipient: text,
  template: optional,
  version: optional,
  step: optional,
  bucket: optional,
});

const asArguments = (p: BusinessKeyParts) => [
  p.tenantId,
  p.eventType,
  p.eventId,
  p.recipient,
  p.template ?? null,
  p.version ?? null,
  p.step ?? null,
  p.bucket ?? null,
];

describe('the key the database computes', () => {
  test('is the key this program computes', async ({ database: { pool } }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(parts, { minLength: 1, maxLength: 50 }), async (samples) => {
        const columns = asArguments(samples[0] as BusinessKeyParts).map((_, i) =>
          samples.map((s) => asArguments(s)[i]),
        );
        const rows = await rowsOf<{ key: string }>(
          pool,
          `select sendledger.business_key(a, b, c, d, e, f, g, h) as key
           from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
             with ordinality as u(a, b, c, d, e, f, g, h, ord) order by ord`,
          columns,
        );
        expect(rows.map((row) => row.key)).toEqual(samples.map((s) => businessKey(s)));
      }),
      { numRuns: 60 },
    );
  });

  test('tells an absent part from an empty one, and a|b, c from a, b|c', async ({ database: { pool } }) => {
    const key = async (...args: (string | null)[]) =>
      only(
        await rowsOf<{ key: string }>(
          pool,
          'select sendledger.business_key($1, $2, $3, $4, $5, $6, $7, $8) as key',
          args,
        ),
      ).key;
    const keys = [
      await key('t', 'a|b', 'c', 'r', null, null, null, null),
      await key('t', 'a', 'b|c', 'r', null, null, null, null),
      await key('t', 'a', 'b|c', 'r', '', null, null, null),
      await key('t', 'a', 'b|c', 'r', null, '', null, null),
      await key('t', 'a', 'b|c', 'r', '-', null, null, null),
      await key('t', 'a', 'b|c', 'r', null, null, null, ''),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});
