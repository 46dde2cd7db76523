import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BusinessKeyParts, businessKey } from '../../src/domain/business-key.ts';

const base = { tenantId: 't', eventType: 'order.shipped', eventId: '8841', recipient: '919876543210' };

test('is SHA-256 over the prefix and the eight length-prefixed parts', () => {
  const encoded = 'sendledger.key.11:t13:order.shipped4:884112:919876543210--1:2-';
  expect(businessKey({ ...base, step: '2' })).toBe(createHash('sha256').update(encoded, 'utf8').digest('hex'));
});

test('lengths are octets, not characters', () => {
  const encoded = 'sendledger.key.12:é13:order.shipped4:884112:919876543210----';
  expect(businessKey({ ...base, tenantId: 'é' })).toBe(createHash('sha256').update(encoded, 'utf8').digest('hex'));
});

test('leading zeros count', () => {
  expect(businessKey({ ...base, eventId: '08841' })).not.toBe(businessKey(base));
});

test('the channel is no part', () => {
  const withChannel: BusinessKeyParts & { channel: string } = { ...base, channel: 'whatsapp' };
  expect(businessKey(withChannel)).toBe(businessKey(base));
});

test('an absent part is not an empty one, and not a dash', () => {
  const keys = [undefined, '', '-', '0:', '1:-'].map((step) => businessKey({ ...base, step }));
  expect(new Set(keys).size).toBe(5);
});

test('a|b, c and a, b|c differ', () => {
  expect(businessKey({ ...base, eventType: 'a|b', eventId: 'c' })).not.toBe(
    businessKey({ ...base, eventType: 'a', eventId: 'b|c' }),
  );
});

test.each(['a\0b', '\ud800', 'x\udc00'])('%j is refused', (eventId) => {
  expect(() => businessKey({ ...base, eventId })).toThrow(expect.objectContaining({ code: 'SENDLEDGER_KEY_NOT_TEXT' }));
});

/** Parts that try to look like the encoding itself. */
const part = fc.oneof(
  fc
    .array(fc.constantFrom('a', 'b', '|', '-', ':', '0', '1', '2', 'é', '😀', '1:a', '0:', '2:--'), { maxLength: 5 })
    .map((c) => c.join('')),
  fc.string({ maxLength: 12 }),
);
const parts = fc.tuple(part, part, part, part, fc.option(part), fc.option(part), fc.option(part), fc.option(part));
type Parts = typeof parts extends fc.Arbitrary<infer T> ? T : never;

function keyOf([tenantId, eventType, eventId, recipient, template, version, step, bucket]: Parts): string {
  return businessKey({
    tenantId,
    eventType,
    eventId,
    recipient,
    template: template ?? undefined,
    version: version ?? undefined,
    step: step ?? undefined,
    bucket: bucket ?? undefined,
  });
}

describe('distinct parts', () => {
  test('never give one key, and equal parts always do', () => {
    fc.assert(
      fc.property(parts, parts, (left, right) => {
        expect(keyOf(left) === keyOf(right)).toBe(JSON.stringify(left) === JSON.stringify(right));
        expect(keyOf([...left])).toBe(keyOf(left));
      }),
      { numRuns: 5000 },
    );
  });

  test('never give one key when text moves over the border of two neighbours', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 2, unit: fc.constantFrom('a', '|', ':', '1', '-') }),
        fc.nat(),
        fc.nat(),
        (text, i, j) => {
          const [one, two] = [i % (text.length + 1), j % (text.length + 1)];
          fc.pre(one !== two);
          const at = (cut: number) => businessKey({ ...base, eventType: text.slice(0, cut), eventId: text.slice(cut) });
          expect(at(one)).not.toBe(at(two));
        },
      ),
    );
  });
});
