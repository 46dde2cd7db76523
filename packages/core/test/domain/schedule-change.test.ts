import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asksProvider, judgeScheduleChange, type ScheduleFacts } from '../../src/index.ts';

const MIN = 60_000;
const DUE = 600 * MIN;

const cancel: ScheduleFacts = {
  kind: 'cancel',
  answered: 'done',
  list: { entry: { state: 'waiting', scheduledForMs: DUE } },
  records: null,
  nowMs: 0,
  scheduledForMs: DUE,
  moveToMs: null,
  settleMs: 30 * MIN,
  asks: 1,
};
const move: ScheduleFacts = { ...cancel, kind: 'move', moveToMs: DUE + 60 * MIN };
const entry = (state: 'waiting' | 'cancelled' | 'sent' | 'unknown', scheduledForMs: number | null = DUE) => ({
  entry: { state, scheduledForMs },
});
const GONE = { entry: null };
const LONG_AFTER = DUE + 31 * MIN;
const FOR_EVER_AFTER = DUE + 30 * MIN + 1_440 * MIN;

describe('what became of a cancellation at the provider', () => {
  test.for<[string, Partial<ScheduleFacts>, string]>([
    ['answered done, and still in the list', {}, 'again'],
    ['answered done, and in the list as cancelled', { list: entry('cancelled') }, 'done'],
    ['answered done, and gone from the list', { list: GONE }, 'done'],
    ['answered done, and gone when its time is near: sent or dropped', { list: GONE, nowMs: DUE - 1_000 }, 'again'],
    ['answered done, gone, no record soon after its time', { list: GONE, records: 0, nowMs: DUE + 1_000 }, 'again'],
    ['answered done, gone, no record long after its time', { list: GONE, records: 0, nowMs: LONG_AFTER }, 'done'],
    ['answered done, and the list was not read', { list: null }, 'again'],
    ['no answer, and in the list as cancelled', { answered: 'ambiguous', list: entry('cancelled') }, 'done'],
    ['no answer, and gone from the list: sent or dropped', { answered: 'ambiguous', list: GONE }, 'again'],
    ['no answer, and waiting', { answered: 'ambiguous' }, 'again'],
    ['no answer, and sent', { answered: 'ambiguous', list: entry('sent') }, 'too_late'],
    ['answered done, and sent', { list: entry('sent') }, 'too_late'],
    ['answered done, and a record of it', { records: 1, list: GONE, nowMs: LONG_AFTER }, 'too_late'],
    ['refused, and waiting', { answered: 'refused' }, 'again'],
    ['refused again and again, and waiting', { answered: 'refused', asks: 5 }, 'refused'],
    ['refused again and again, and the list was not read', { answered: 'refused', asks: 9, list: null }, 'again'],
    ['refused, and cancelled all the same', { answered: 'refused', asks: 9, list: entry('cancelled') }, 'done'],
    ['not asked at all, gone, no record', { answered: null, list: GONE, records: 0, nowMs: LONG_AFTER }, 'again'],
    ['never reached it, gone, no record', { answered: 'not_sent', list: GONE, records: 0, nowMs: LONG_AFTER }, 'again'],
    ['no answer, gone, no record soon after', { answered: 'ambiguous', list: GONE, records: 0, nowMs: DUE }, 'again'],
    [
      'no answer, gone, no record long after: the report may lag',
      { answered: 'ambiguous', list: GONE, records: 0, nowMs: LONG_AFTER },
      'again',
    ],
    ['no answer, gone, no report long after', { answered: 'ambiguous', list: GONE, nowMs: LONG_AFTER }, 'again'],
    ['a word nobody knows, no record', { list: entry('unknown'), records: 0, nowMs: LONG_AFTER }, 'again'],
    ['nothing to see a day later', { answered: 'ambiguous', list: null, nowMs: FOR_EVER_AFTER }, 'refused'],
  ])('%s', ([, facts, verdict]) => {
    expect(judgeScheduleChange({ ...cancel, ...facts })).toBe(verdict);
  });
});

describe('what became of a move at the provider', () => {
  const there = DUE + 60 * MIN;
  test.for<[string, Partial<ScheduleFacts>, string]>([
    ['answered done, and still at the old time', {}, 'again'],
    ['at the new time, whatever was answered', { answered: 'ambiguous', list: entry('waiting', there) }, 'done'],
    ['at the new time but for its seconds', { list: entry('waiting', there + 59_000) }, 'done'],
    ['refused, and at the old time', { answered: 'refused' }, 'again'],
    ['refused again and again', { answered: 'refused', asks: 5 }, 'refused'],
    ['the list names no time', { list: entry('waiting', null) }, 'again'],
    ['gone', { list: GONE }, 'again'],
    ['gone, and its time has come', { list: GONE, nowMs: DUE }, 'too_late'],
    ['its time has come, and nothing could be seen', { list: null, nowMs: DUE }, 'again'],
    ['nothing could be seen a day later', { list: null, nowMs: FOR_EVER_AFTER }, 'refused'],
    [
      'a small move that was not made',
      { answered: 'refused', moveToMs: DUE + 30_000, list: entry('waiting') },
      'again',
    ],
    ['sent', { list: entry('sent', there) }, 'too_late'],
    ['cancelled', { list: entry('cancelled', there) }, 'too_late'],
    ['a record of it', { records: 1 }, 'too_late'],
  ])('%s', ([, facts, verdict]) => {
    expect(judgeScheduleChange({ ...move, ...facts })).toBe(verdict);
  });
});

const facts = fc.record<ScheduleFacts>({
  kind: fc.constantFrom('cancel', 'move'),
  answered: fc.constantFrom('done', 'refused', 'not_sent', 'ambiguous', null),
  list: fc.option(
    fc.record({
      entry: fc.option(
        fc.record({
          state: fc.constantFrom('waiting' as const, 'cancelled' as const, 'sent' as const, 'unknown' as const),
          scheduledForMs: fc.option(fc.integer({ min: 0, max: 3 * DUE })),
        }),
      ),
    }),
  ),
  records: fc.option(fc.integer({ min: 0, max: 3 })),
  nowMs: fc.integer({ min: 0, max: 5 * FOR_EVER_AFTER }),
  scheduledForMs: fc.constant(DUE),
  moveToMs: fc.constant(DUE + 60 * MIN),
  settleMs: fc.constant(30 * MIN),
  asks: fc.integer({ min: 1, max: 20 }),
});

describe('of whatever is known', () => {
  test('an answer alone never ends a change: without list and records nothing is done', () => {
    fc.assert(
      fc.property(facts, (some) => {
        expect(judgeScheduleChange({ ...some, list: null, records: null })).not.toBe('done');
      }),
    );
  });
  test('a record of it means that it was sent', () => {
    fc.assert(
      fc.property(facts, (some) => {
        expect(judgeScheduleChange({ ...some, records: 1 })).toBe('too_late');
      }),
    );
  });
  test('it ends: a day after its time and the settling nothing is asked again', () => {
    fc.assert(
      fc.property(facts, (some) => {
        expect(judgeScheduleChange({ ...some, nowMs: FOR_EVER_AFTER })).not.toBe('again');
      }),
    );
  });
  test('nothing is asked after its time, and nothing twice that was answered', () => {
    fc.assert(
      fc.property(facts, (some) => {
        if (asksProvider(some)) {
          expect(some.nowMs).toBeLessThan(some.scheduledForMs);
          expect(some.answered).not.toBe('done');
        }
      }),
    );
  });
});
