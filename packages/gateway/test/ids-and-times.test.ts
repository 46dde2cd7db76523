import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanEpoch, cleanId, cleanTime } from '../src/index.ts';
import { asObject, parseJson } from '../src/normalise/parse-json.ts';

describe('ids of others', () => {
  it.each(['6305583318236810379', '0012345678901234567', '5718742519829975000', 'QudUrwhMuIGkbs2'])(
    'keeps %s',
    (id) => {
      expect(cleanId(id)).toBe(id);
    },
  );

  it.each([
    '',
    '0',
    'null',
    'NULL',
    '-',
    '  ',
    null,
    undefined,
    {},
    Number.NaN,
    Number('6305583318236810379'),
    '1\u00002',
  ])('takes %j for no id', (id) => {
    expect(cleanId(id)).toBeNull();
  });

  it('reads an unquoted id of 19 digits to the last digit', () => {
    expect(asObject(parseJson('{"msgId": 8466326473775335661}'))?.msgId).toBe('8466326473775335661');
  });

  it('keeps every digit, quoted or not, of any length', () => {
    const digits = fc.stringMatching(/^[1-9]\d{0,39}$/);
    fc.assert(
      fc.property(digits, fc.boolean(), (id, quoted) => {
        const value = asObject(parseJson(quoted ? `{"id":"${id}"}` : `{"id":${id}}`))?.id;
        expect(cleanId(value)).toBe(id);
      }),
    );
    fc.assert(fc.property(fc.stringMatching(/^0\d{1,39}$/), (id) => cleanId(id) === id));
  });

  it('keeps money as it was written', () => {
    expect(asObject(parseJson('{"cost": 0.10}'))?.cost).toBe('0.10');
  });

  it('has no answer for what is not complete JSON', () => {
    expect(parseJson('{"status":"succ')).toBeUndefined();
    expect(parseJson('')).toBeUndefined();
    expect(parseJson('['.repeat(200_000))).toBeUndefined();
  });
});

describe('times of others', () => {
  it('reads epochs in milliseconds and seconds, and "0" as never', () => {
    expect(cleanEpoch('1700117933163')?.toISOString()).toBe('2023-11-16T06:58:53.163Z');
    expect(cleanEpoch('1562974594')?.getTime()).toBe(1_562_974_594_000);
    expect(cleanEpoch('0')).toBeNull();
    expect(cleanEpoch('170011793316')).toBeNull();
  });

  it.each([
    ['July 13, 2019 03:44:48', '2019-07-12T22:14:48.000Z'],
    ['2026-07-17 00:20:09', '2026-07-16T18:50:09.000Z'],
    [' 2026-07-17  00:20:09 ', '2026-07-16T18:50:09.000Z'],
    ['1562974594713', '2019-07-12T23:36:34.713Z'],
    ['2026-07-17T00:20:09Z', '2026-07-17T00:20:09.000Z'],
  ])('reads %s in the default zone', (text, instant) => {
    expect(cleanTime(text)?.toISOString()).toBe(instant);
  });

  it('reads local times in the zone it is told', () => {
    expect(cleanTime('2026-07-17 00:20:09', 'UTC')?.toISOString()).toBe('2026-07-17T00:20:09.000Z');
  });

  it.each(['', '0', 'null', '-', '0000-00-00 00:00:00', '13/07/2019 03:44', 'soon', '12345'])(
    'does not guess %j',
    (text) => {
      expect(cleanTime(text)).toBeNull();
    },
  );
});
