import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ProviderRecord } from '../src/index.ts';
import { readDayRows } from '../src/smsgatewaycenter/read-day-rows.ts';

const READING = { zone: 'Asia/Kolkata', countryCode: '91', extraStatusWords: new Map() };

/** Columns as one export might name them, and a value of each. */
const COLUMNS: readonly (readonly [string, string])[] = [
  ['uuId', '6305583318236810379'],
  ['msgId', '00417'],
  ['mobileNo', '919999999999'],
  ['senderName', 'SMSGAT'],
  ['Status', 'FAILED'],
  ['Cause', 'Absent "the" subscriber, away'],
  ['Submitted Time', '2026-07-17 12:00:00'],
  ['Delivered Time', ''],
  ['text', 'a code: 482910\r\nand more'],
  ['Operator Circle', 'KA'],
];

const written = (field: string) => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);

/** A name in another case and with other blanks; what it means is the same. */
const respelt = (name: string, cases: readonly boolean[], blanks: readonly number[]) =>
  [...name]
    .map(
      (c, i) =>
        `${cases[i % cases.length] === true ? c.toUpperCase() : c.toLowerCase()}${' '.repeat(blanks[i % blanks.length] ?? 0)}`,
    )
    .join('');

async function read(octets: readonly Buffer[]): Promise<{ records: readonly ProviderRecord[]; badRows: number }> {
  const records: ProviderRecord[] = [];
  const files = [async () => Readable.from(octets)];
  const { badRows } = await readDayRows({ unpackedBytes: 1, files }, READING, 65_536, async (rows) => {
    records.push(...rows.records);
  });
  return { records, badRows };
}

const spelling = fc.record({
  order: fc.shuffledSubarray(
    COLUMNS.map((_, i) => i),
    { minLength: COLUMNS.length },
  ),
  cases: fc.array(fc.boolean(), { minLength: 1, maxLength: 16 }),
  blanks: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 16 }),
  end: fc.constantFrom('\n', '\r\n'),
  mark: fc.constantFrom('', '\uFEFF'),
  cuts: fc.array(fc.nat(400), { maxLength: 12 }),
});

test('however the columns are ordered and spelt and the octets cut, the records are the same', async () => {
  const plain = await read([
    Buffer.from(`${COLUMNS.map(([name]) => name).join(',')}\n${COLUMNS.map(([, v]) => written(v)).join(',')}\n`),
  ]);
  expect(plain).toMatchObject({
    badRows: 0,
    records: [
      { providerMessageId: '00417', status: 'failed', cause: 'Absent "the" subscriber, away', deliveredAt: null },
    ],
  });
  await fc.assert(
    fc.asyncProperty(spelling, async ({ order, cases, blanks, end, mark, cuts }) => {
      const columns = order.map((i) => COLUMNS[i] ?? ['', '']);
      const header = columns.map(([name]) => respelt(name, cases, blanks)).join(',');
      const octets = Buffer.from(`${mark}${header}${end}${columns.map(([, value]) => written(value)).join(',')}${end}`);
      const places = [0, ...cuts.filter((cut) => cut < octets.length).toSorted((a, b) => a - b), octets.length];
      const pieces = places.slice(1).map((to, i) => octets.subarray(places[i], to));
      expect(await read(pieces)).toEqual(plain);
    }),
  );
  expect(JSON.stringify(plain)).not.toContain('482910');
});
