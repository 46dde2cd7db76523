import fc from 'fast-check';
import splitSms from 'split-sms';
import { describe, expect, test } from 'vitest';
import { countSegments, type Encoding } from '../../src/domain/segments.ts';

const a = (n: number) => 'a'.repeat(n);
const ka = (n: number) => 'क'.repeat(n);
const astral = '😀';

describe('the golden table (FC-38)', () => {
  const rows: readonly [name: string, text: string, encoding: Encoding, units: number, segments: number][] = [
    ['empty', '', 'GSM7', 0, 0],
    ['one letter', 'a', 'GSM7', 1, 1],
    ['160', a(160), 'GSM7', 160, 1],
    ['161', a(161), 'GSM7', 161, 2],
    ['153', a(153), 'GSM7', 153, 1],
    ['2 x 153', a(306), 'GSM7', 306, 2],
    ['2 x 153 + 1', a(307), 'GSM7', 307, 3],
    ['10 x 153', a(1530), 'GSM7', 1530, 10],
    ['10 x 153 + 1', a(1531), 'GSM7', 1531, 11],
    ['extension at the end of 160', `${a(158)}€`, 'GSM7', 160, 1],
    ['extension that makes 161', `${a(159)}€`, 'GSM7', 161, 2],
    ['extension on the edge of a part: the part ends at 152', `${a(152)}€${a(152)}`, 'GSM7', 306, 3],
    ['extension just before the edge', `${a(151)}€${a(153)}`, 'GSM7', 306, 2],
    ['80 brackets are 160', '['.repeat(80), 'GSM7', 160, 1],
    ['81 brackets', '['.repeat(81), 'GSM7', 162, 2],
    ['153 brackets', '['.repeat(153), 'GSM7', 306, 3],
    ['152 brackets', '['.repeat(152), 'GSM7', 304, 2],
    ['every extension character', '^{}\\[~]|€\f', 'GSM7', 20, 1],
    ['accents of the alphabet', 'èéùìòÇØøÅåÆæßÉÄÖÑÜäöñüà£$¥¤¡¿§', 'GSM7', 30, 1],
    ['Greek capitals of the alphabet', 'ΔΦΓΛΩΠΨΣΘΞ', 'GSM7', 10, 1],
    ['CRLF is two', `${a(158)}\r\n`, 'GSM7', 160, 1],
    ['CRLF over', `${a(159)}\r\n`, 'GSM7', 161, 2],
    ['70', ka(70), 'UCS2', 70, 1],
    ['71', ka(71), 'UCS2', 71, 2],
    ['67', ka(67), 'UCS2', 67, 1],
    ['2 x 67', ka(134), 'UCS2', 134, 2],
    ['2 x 67 + 1', ka(135), 'UCS2', 135, 3],
    ['35 astral are 70', astral.repeat(35), 'UCS2', 70, 1],
    ['36 astral', astral.repeat(36), 'UCS2', 72, 2],
    ['surrogate pair on the edge moves whole', `${ka(66)}${astral}${ka(66)}`, 'UCS2', 134, 3],
    ['surrogate pair just before the edge', `${ka(65)}${astral}${ka(67)}`, 'UCS2', 134, 2],
    ['67 astral: 33 a part', astral.repeat(67), 'UCS2', 134, 3],
    ['a joined emoji is its code units', '👨‍👩‍👧', 'UCS2', 8, 1],
    ['brackets count once when Unicode is forced', `${'['.repeat(69)}क`, 'UCS2', 70, 1],
    ['backtick', '`', 'UCS2', 1, 1],
    ['tab', '\t', 'UCS2', 1, 1],
    ['no-break space', '\u00a0', 'UCS2', 1, 1],
    ['curly quotes', '“a”', 'UCS2', 3, 1],
    ['small c with cedilla is not in the alphabet', 'ç', 'UCS2', 1, 1],
    ['escape is no character', '\u001b', 'UCS2', 1, 1],
    ['a lone surrogate is one unit', '\ud83d', 'UCS2', 1, 1],
    ['one curly quote in 160', `${a(159)}’`, 'UCS2', 160, 3],
  ];
  test.each(rows)('%s', (_name, text, encoding, units, segments) => {
    expect(countSegments(text, 'gsm7')).toMatchObject({ encoding, units, segments });
  });
});

describe('the rule of a provider that sends only ASCII as text', () => {
  test.each(['é', '£', '€', 'ñ', 'Δ'])('%s makes the message Unicode', (character) => {
    expect(countSegments(`${a(100)}${character}`, 'ascii')).toEqual({
      encoding: 'UCS2',
      units: 101,
      segments: 2,
      firstOutside: character,
    });
    expect(countSegments(`${a(100)}${character}`, 'gsm7').encoding).toBe('GSM7');
  });

  test('ASCII outside the GSM alphabet is Unicode under either rule', () => {
    expect(countSegments('a`b', 'ascii')).toMatchObject({ encoding: 'UCS2', firstOutside: '`' });
  });

  test('ASCII extension characters count twice', () => {
    expect(countSegments('{}', 'ascii')).toMatchObject({ encoding: 'GSM7', units: 4 });
  });
});

describe('the character that forced Unicode', () => {
  test('is the first one, whole', () => {
    expect(countSegments(`${a(5)}${astral}क`, 'gsm7').firstOutside).toBe(astral);
    expect(countSegments('abc', 'gsm7').firstOutside).toBeNull();
  });
});

const gsm = fc.constantFrom(...'@£$¥èéùìòÇ\nØø\rÅåΔ_ !"#abcxyzABCXYZ0189äöñüà§¿');
const extension = fc.constantFrom(...'^{}\\[~]|€\f');
const bmp = fc.constantFrom('क', '“', '’', '\u00a0', '`', '\t', 'ç', '中', '\ufffd', '\ud7ff', '\ue000');
const beyond = fc.constantFrom('😀', '𝒳', '\u{10000}', '\u{10ffff}');
/** Lengths near 1 to 4 full parts in either alphabet, where splitting shows. */
const edge = fc
  .tuple(fc.constantFrom(67, 70, 134, 153, 160, 201, 268, 306, 459, 612), fc.integer({ min: -4, max: 4 }))
  .map(([length, off]) => length + off);

function textOf(...kinds: fc.Arbitrary<string>[]) {
  return edge.chain((length) =>
    fc
      .array(fc.oneof(...kinds), { minLength: Math.floor(length / 2), maxLength: length, size: 'max' })
      .map((c) => c.join('')),
  );
}

/** A run of one character with a few others put in: mixes in equal shares seldom meet an edge at the right offset. */
const nearlyUniform = fc
  .tuple(
    edge,
    fc.constantFrom('a', 'क', '😀', '['),
    fc.array(fc.tuple(fc.nat(), fc.oneof(gsm, extension, bmp, beyond)), { maxLength: 6 }),
  )
  .map(([length, filler, others]) => {
    const characters: string[] = Array.from({ length }, () => filler);
    for (const [at, character] of others) characters[at % length] = character;
    return characters.join('');
  });

describe('against split-sms', () => {
  test.each([
    ['GSM and extension', textOf(gsm, extension)],
    ['everything mixed', textOf(gsm, extension, bmp, beyond)],
    ['mostly astral', textOf(beyond, bmp)],
    ['nearly uniform', nearlyUniform],
  ])('%s', (_name, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        const oracle = splitSms.split(text, { summary: true });
        const ours = countSegments(text, 'gsm7');
        expect(ours.encoding).toBe(oracle.characterSet === 'GSM' ? 'GSM7' : 'UCS2');
        expect(ours.units).toBe(ours.encoding === 'GSM7' ? oracle.bytes : oracle.bytes / 2);
        expect(ours.segments).toBe(oracle.parts.length);
      }),
      { numRuns: 3000 },
    );
  });
});

test('the ascii rule never counts fewer segments than the alphabet allows', () => {
  fc.assert(
    fc.property(textOf(gsm, extension, bmp), (text) => {
      expect(countSegments(text, 'ascii').segments).toBeGreaterThanOrEqual(countSegments(text, 'gsm7').segments);
    }),
  );
});
