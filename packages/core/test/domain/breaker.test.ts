import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BreakerEvent, type BreakerFacts, foldBreaker } from '../../src/domain/breaker.ts';

const event: fc.Arbitrary<BreakerEvent> = fc.record({
  sign: fc.constantFrom('alive' as const, 'failure' as const, 'trip' as const),
  probe: fc.boolean(),
  reason: fc.constantFrom('a', 'b'),
});
const facts: fc.Arbitrary<BreakerFacts> = fc.record({
  state: fc.constantFrom('closed' as const, 'open' as const),
  failures: fc.nat(10),
  threshold: fc.integer({ min: 1, max: 8 }),
});

const failure: BreakerEvent = { sign: 'failure', probe: false, reason: 'ambiguous' };
const alive: BreakerEvent = { sign: 'alive', probe: false, reason: 'accepted' };
const trip: BreakerEvent = { sign: 'trip', probe: false, reason: 'refused_account' };
const closed: BreakerFacts = { state: 'closed', failures: 0, threshold: 5 };

describe('the breaker of a route', () => {
  test('opens with the fifth failure in a row, and not with the fourth', () => {
    expect(foldBreaker(closed, Array(4).fill(failure))).toEqual({
      state: 'closed',
      failures: 4,
      opened: null,
      closed: false,
    });
    expect(foldBreaker(closed, Array(5).fill(failure))).toMatchObject({ state: 'open', opened: 'ambiguous' });
  });
  test('a success in between starts the count anew', () => {
    const events = [failure, failure, failure, failure, alive, failure, failure, failure, failure];
    expect(foldBreaker(closed, events)).toMatchObject({ state: 'closed', failures: 4 });
  });
  test('one word about the account is enough', () => {
    expect(foldBreaker(closed, [trip])).toMatchObject({ state: 'open', opened: 'refused_account' });
  });
  test('only a probe closes it: what was on the wire when it opened says nothing about now', () => {
    const open = { ...closed, state: 'open', failures: 5 } as const;
    expect(foldBreaker(open, [alive])).toMatchObject({ state: 'open', failures: 5, closed: false });
    expect(foldBreaker(open, [{ ...alive, probe: true }])).toEqual({
      state: 'closed',
      failures: 0,
      opened: null,
      closed: true,
    });
    expect(foldBreaker(open, [{ ...failure, probe: true }])).toMatchObject({ state: 'open', opened: null });
  });
  test('a straggler of an outage that is over does not open it again', () => {
    const facts = { ...closed, closedAtMs: 1_000 };
    const old = Array(9).fill({ ...failure, requestedAtMs: 999 });
    expect(foldBreaker(facts, old)).toMatchObject({ state: 'closed', failures: 0 });
    expect(foldBreaker(facts, Array(5).fill({ ...failure, requestedAtMs: 1_000 }))).toMatchObject({ state: 'open' });
  });
  test('a probe that was left over from before does not close it', () => {
    const facts = { ...closed, state: 'open', failures: 5, openedAtMs: 1_000 } as const;
    expect(foldBreaker(facts, [{ ...alive, probe: true, requestedAtMs: 999 }])).toMatchObject({ state: 'open' });
    expect(foldBreaker(facts, [{ ...alive, probe: true, requestedAtMs: 1_000 }])).toMatchObject({ state: 'closed' });
  });
  test('many at once end where they would end one by one', () => {
    fc.assert(
      fc.property(facts, fc.array(event, { maxLength: 20 }), (start, events) => {
        let one = { state: start.state, failures: start.failures };
        for (const e of events) one = foldBreaker({ ...one, threshold: start.threshold }, [e]);
        const { state, failures } = foldBreaker(start, events);
        expect({ state, failures }).toEqual({ state: one.state, failures: one.failures });
      }),
    );
  });
  test('closed means fewer failures in a row than the threshold, whatever came', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), fc.integer({ min: 1, max: 8 }), (events, threshold) => {
        const end = foldBreaker({ state: 'closed', failures: 0, threshold }, events);
        if (end.state === 'closed') expect(end.failures).toBeLessThan(threshold);
      }),
    );
  });
});
