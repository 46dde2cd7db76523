import { describe, expect, it } from 'vitest';
import { startSendBudget } from '../src/index.ts';

function budgetWith(start: number) {
  const now = { monotonic: 0, wall: start };
  const clocks = { monotonicMs: () => now.monotonic, wallMs: () => now.wall };
  return { now, budget: startSendBudget({ monotonicMs: 0, wallMs: start }, 1_000, clocks) };
}

describe('the send budget', () => {
  it('holds until either clock says that it is spent', () => {
    const { now, budget } = budgetWith(50_000);
    now.monotonic = 999;
    now.wall = 50_400;
    expect(budget.holds()).toBe(true);
    expect(budget.remainingMs).toBe(1);
    now.monotonic = 1_000;
    expect(budget.holds()).toBe(false);
    expect(budget.remainingMs).toBe(0);
  });

  it('is spent by a wall clock that jumped ahead while the monotonic one stood still', () => {
    const { now, budget } = budgetWith(50_000);
    now.wall = 51_000;
    expect(budget.holds()).toBe(false);
  });

  it('bears a small step back of the wall clock, and not one of more than the budget', () => {
    const { now, budget } = budgetWith(50_000);
    now.wall = 49_000;
    expect(budget.holds()).toBe(true);
    now.wall = 48_999;
    expect(budget.holds()).toBe(false);
  });

  it('stays spent when the wall clock is put back', () => {
    const { now, budget } = budgetWith(50_000);
    now.wall = 60_000;
    expect(budget.holds()).toBe(false);
    now.wall = 50_001;
    expect(budget.holds()).toBe(false);
  });

  it('is spent by a reading that is no number', () => {
    const { now, budget } = budgetWith(50_000);
    now.monotonic = Number.NaN;
    expect(budget.holds()).toBe(false);
  });
});
