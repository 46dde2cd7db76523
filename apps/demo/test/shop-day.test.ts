import { describe, expect, test } from 'vitest';
import { type Happening, messagesOf, shopDay } from '../src/shop-plan.ts';

const written = (happening: Happening) =>
  happening.kind === 'checkout'
    ? happening.orders.reduce((sum, order) => sum + messagesOf(order), 0)
    : happening.kind === 'announcement'
      ? happening.phones.length
      : 0;

describe('a day in the shop', () => {
  test.each([1, 2, 3, 7, 50, 1_000])('makes exactly %i messages', (messages) => {
    for (let seed = 0; seed < 50; seed++) {
      const day = [...shopDay(messages, seed, 'S')];
      expect(day.reduce((sum, happening) => sum + written(happening), 0)).toBe(messages);
    }
  });

  test('repeats by its seed', () => {
    expect([...shopDay(500, 7, 'S')]).toEqual([...shopDay(500, 7, 'S')]);
    expect([...shopDay(500, 7, 'S')]).not.toEqual([...shopDay(500, 8, 'S')]);
  });

  test('has everything in it that is to be shown', () => {
    const day = [...shopDay(500, 1, 'S')];
    expect(new Set(day.map((happening) => happening.kind))).toEqual(
      new Set(['checkout', 'failed-checkout', 'repeated-call', 'announcement']),
    );
    const orders = day.flatMap((happening) => (happening.kind === 'checkout' ? happening.orders : []));
    expect(orders.some((order) => order.code !== null)).toBe(true);
    expect(new Set(orders.map((order) => order.reminders))).toEqual(new Set([0, 1, 2]));
    expect(new Set(orders.map((order) => order.id)).size).toBe(orders.length);
  });
});
