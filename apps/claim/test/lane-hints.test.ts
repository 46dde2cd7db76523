import { MESSAGE_CLASSES } from '@sendledger/core';
import type { LaneHint } from '@sendledger/core/ledger';
import { describe, expect, test } from 'vitest';
import { LaneHints } from '../src/lane-hints.ts';

const hint = (dueAt: number): LaneHint => ({
  tenants: [{ tenantId: 'shop', weight: 1 }],
  from: new Map([['shop', { dueAt: new Date(dueAt), id: '1' }]]),
});
const lane = { routeId: '5', messageClass: 'promotional' } as const;

describe('what a claimer remembers of a lane', () => {
  test('is given to the next claim, and ends two seconds after a claim looked from the start', () => {
    let now = 0;
    const hints = new LaneHints(() => now);
    const first = hints.begin(lane);
    expect(first.hint).toBeUndefined();
    first.keep(hint(10));
    now = 1_000;
    const second = hints.begin(lane);
    expect(second.hint).toEqual(hint(10));
    // Kept on, it does not begin a new time.
    second.keep(hint(20));
    now = 1_999;
    expect(hints.begin(lane).hint).toEqual(hint(20));
    expect(hints.starts('promotional')).toEqual(new Map([['5', { dueAt: new Date(20), id: '1' }]]));
    expect(hints.starts('transactional')).toEqual(new Map());
    now = 2_000;
    expect(hints.begin(lane).hint).toBeUndefined();
    expect(hints.starts('promotional')).toEqual(new Map());
  });

  test('is dropped by a wake-up, also by one that comes while a claim is under way', () => {
    const hints = new LaneHints(() => 0);
    hints.begin(lane).keep(hint(10));
    hints.drop('5.promotional');
    expect(hints.begin(lane).hint).toBeUndefined();
    const underWay = hints.begin(lane);
    hints.drop('5.promotional');
    underWay.keep(hint(10));
    expect(hints.begin(lane).hint).toBeUndefined();
    hints.begin(lane).keep(hint(10));
    hints.drop('6.promotional');
    expect(hints.begin(lane).hint).toEqual(hint(10));
  });

  for (const messageClass of MESSAGE_CLASSES)
    test(`of ${messageClass}: ${messageClass === 'otp' ? 'nothing' : 'something'}`, () => {
      const hints = new LaneHints(() => 0);
      hints.begin({ ...lane, messageClass }).keep(hint(10));
      expect(hints.begin({ ...lane, messageClass }).hint === undefined).toBe(messageClass === 'otp');
    });

  test('ends where a claim found nothing', () => {
    const hints = new LaneHints(() => 0);
    hints.begin(lane).keep(hint(10));
    hints.begin(lane).keep(null);
    expect(hints.begin(lane).hint).toBeUndefined();
  });
});
