import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AbsenceFacts, doubtsAboutAbsence, windowOf } from '../../src/domain/absence.ts';
import { correlate, type LooseRecord, type RequestedRow } from '../../src/domain/correlate.ts';

const TO = '919812345678';
const row = (id: string, atMs: number, senderId: string | null = 'SHOPIN', recipient = TO): RequestedRow => ({
  id,
  recipient,
  senderId,
  ...windowOf(atMs, true),
});
const record = (atMs: number | null, senderId: string | null = 'SHOPIN', recipient = TO): LooseRecord => ({
  recipient,
  senderId,
  atMs,
});
const kinds = (rows: readonly RequestedRow[], records: readonly LooseRecord[]) =>
  Object.fromEntries([...correlate(rows, records)].map(([id, verdict]) => [id, verdict.kind]));
const S = 1_000;
const MIN = 60 * S;

describe('rows and records are matched by sets', () => {
  test('one row and one record', () => {
    expect(kinds([row('1', 0)], [record(5 * S)])).toEqual({ 1: 'matched' });
  });
  test('one row and none', () => {
    expect(kinds([row('1', 0)], [])).toEqual({ 1: 'not_found' });
  });
  test('two codes to one number ninety seconds apart, both recorded: ambiguous for each, and settled together', () => {
    const verdicts = correlate([row('1', 0), row('2', 90 * S)], [record(1 * S), record(91 * S)]);
    for (const id of ['1', '2'])
      expect(verdicts.get(id)).toEqual({ kind: 'ambiguous', rows: ['1', '2'], records: 2, together: true });
  });
  test('two rows and one record: ambiguous for both', () => {
    const verdicts = correlate([row('1', 0), row('2', 90 * S)], [record(1 * S)]);
    for (const id of ['1', '2'])
      expect(verdicts.get(id)).toMatchObject({ kind: 'ambiguous', records: 1, together: false });
  });
  test('one row and two records: never a choice', () => {
    expect(correlate([row('1', 0)], [record(1 * S), record(2 * S)]).get('1')).toMatchObject({
      kind: 'ambiguous',
      records: 2,
    });
  });
  test('a record outside of the window is none', () => {
    expect(kinds([row('1', 0)], [record(-3 * MIN), record(11 * MIN)])).toEqual({ 1: 'not_found' });
  });
  test('rows far apart are told apart, each by its own record', () => {
    expect(kinds([row('1', 0), row('2', 60 * MIN)], [record(1 * S), record(60 * MIN)])).toEqual({
      1: 'matched',
      2: 'matched',
    });
  });
  test('windows that overlap through a third are one set', () => {
    const rows = [row('1', 0), row('2', 9 * MIN), row('3', 18 * MIN)];
    expect(kinds(rows, [record(1 * S)])).toEqual({ 1: 'ambiguous', 2: 'ambiguous', 3: 'ambiguous' });
  });
  test('another sender or another number is another set', () => {
    const rows = [row('1', 0), row('2', 0, 'BANKIN'), row('3', 0, 'SHOPIN', '919800000001')];
    expect(kinds(rows, [record(1 * S)])).toEqual({ 1: 'matched', 2: 'not_found', 3: 'not_found' });
  });
  test('a record without sender, or without a time, may be anybody’s', () => {
    const rows = [row('1', 0), row('2', 0, 'BANKIN')];
    expect(kinds(rows, [record(1 * S, null)])).toEqual({ 1: 'ambiguous', 2: 'ambiguous' });
    expect(kinds([row('1', 0), row('2', 60 * MIN)], [record(null)])).toEqual({ 1: 'ambiguous', 2: 'ambiguous' });
  });
  test('where the clock is not known, a record in any zone counts', () => {
    const wide = { ...row('1', 0), ...windowOf(0, false) };
    expect(kinds([wide], [record(5.5 * 60 * MIN)])).toEqual({ 1: 'matched' });
  });

  const instants = fc.integer({ min: 0, max: 40 }).map((n) => n * MIN);
  const senders = fc.constantFrom('SHOPIN', 'BANKIN', null);
  const rows = fc
    .array(fc.tuple(instants, senders), { minLength: 1, maxLength: 8 })
    .map((list) => list.map(([at, s], i) => row(`${i}`, at, s)));
  const records = fc
    .array(fc.tuple(instants, senders), { maxLength: 8 })
    .map((list) => list.map(([at, s]) => record(at, s)));

  test('every row gets one verdict, no record is matched twice, and the order of the input says nothing', () => {
    fc.assert(
      fc.property(rows, records, (some, found) => {
        const verdicts = correlate(some, found);
        expect([...verdicts.keys()].toSorted()).toEqual(some.map((r) => r.id).toSorted());
        const matched = [...verdicts.values()].flatMap((v) => (v.kind === 'matched' ? [v.record] : []));
        expect(new Set(matched).size).toBe(matched.length);
        expect(kinds(some.toReversed(), found.toReversed())).toEqual(kinds(some, found));
      }),
    );
  });
  test('more records never turn an ambiguous row into a matched one', () => {
    fc.assert(
      fc.property(rows, records, records, (some, found, more) => {
        const before = correlate(some, found);
        const after = correlate(some, [...found, ...more]);
        for (const [id, verdict] of before)
          if (verdict.kind === 'ambiguous') expect(after.get(id)?.kind).toBe('ambiguous');
      }),
    );
  });
});

describe('absence is proof only if nothing stands against it', () => {
  const proven: AbsenceFacts = {
    readAtMs: 60 * MIN,
    complete: true,
    knownBefore: 1,
    knownAfter: 1,
    knownMissing: 0,
    looseRecords: 0,
    waitingReceipts: 0,
    transactionNamed: false,
    knownCut: false,
    requestedAtMs: 0,
    settleMs: 30 * MIN,
    clockOffsetMs: 400,
    clockPairs: 2,
    senderIsDone: true,
    schedule: 'none' as const,
  };
  test('all conditions met', () => {
    expect(doubtsAboutAbsence(proven)).toEqual([]);
  });
  const against: readonly [Partial<AbsenceFacts>, string][] = [
    [{ complete: false }, 'report_incomplete'],
    [{ knownBefore: 0 }, 'nothing_known_before'],
    [{ knownAfter: 0 }, 'nothing_known_after'],
    [{ knownMissing: 1 }, 'known_missing'],
    [{ schedule: 'not_read' }, 'schedule_not_read'],
    [{ schedule: 'listed' }, 'schedule_listed'],
    [{ knownCut: true }, 'known_cut'],
    [{ looseRecords: 1 }, 'loose_records'],
    [{ waitingReceipts: 1 }, 'receipt_waiting'],
    [{ transactionNamed: true }, 'transaction_named'],
    [{ readAtMs: 30 * MIN - 1 }, 'not_settled'],
    [{ clockOffsetMs: null }, 'clock_unknown'],
    [{ clockPairs: 1 }, 'clock_unknown'],
    [{ clockOffsetMs: 5.5 * 60 * MIN }, 'clock_off'],
    [{ clockOffsetMs: -6 * MIN }, 'clock_off'],
    [{ senderIsDone: false }, 'worker_may_hold_it'],
  ];
  for (const [change, doubt] of against)
    test(`${JSON.stringify(change)}: ${doubt}`, () => {
      expect(doubtsAboutAbsence({ ...proven, ...change })).toEqual([doubt]);
    });
});
