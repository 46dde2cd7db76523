import { performance } from 'node:perf_hooks';

/** Both clocks, in milliseconds. Injectable, so that a test can move time instead of waiting for it. */
export interface Clocks {
  /** Never steps, but may stand still while a machine is suspended. */
  monotonicMs(): number;
  /** Counts suspended time, but may be stepped by hand or by NTP. */
  wallMs(): number;
}

export const SYSTEM_CLOCKS: Clocks = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

export interface ClockReading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** To be taken before the statement of the mark is sent: the age of a mark counts from there, not from its answer. */
export function readClocks(clocks: Clocks = SYSTEM_CLOCKS): ClockReading {
  return { monotonicMs: clocks.monotonicMs(), wallMs: clocks.wallMs() };
}

/** How old a mark may be when the first byte of its request leaves. */
export interface SendBudget {
  /** False once the budget is spent, and from then on. */
  holds(): boolean;
  /** Milliseconds left, at least 0. */
  readonly remainingMs: number;
}

/** Default age of a mark at the first byte. Lookup, connect and TLS time-outs together stay below it. */
export const DEFAULT_SEND_BUDGET_MS = 5_000;

/**
 * A budget counted from `reading`, judged by both clocks: the monotonic one misses a suspended machine, the wall clock
 * may be stepped. A wall clock that went ahead by the budget, or back by more than it, spends it: time that cannot be
 * measured is taken for spent, which costs a retry and never a second message.
 */
export function startSendBudget(reading: ClockReading, budgetMs: number, clocks: Clocks = SYSTEM_CLOCKS): SendBudget {
  let spent = false;
  const remaining = (): number => {
    if (spent) return 0;
    const monotonicAge = clocks.monotonicMs() - reading.monotonicMs;
    const wallAge = clocks.wallMs() - reading.wallMs;
    // Written so that NaN fails each of them.
    const holds = monotonicAge >= 0 && monotonicAge < budgetMs && wallAge >= -budgetMs && wallAge < budgetMs;
    if (!holds) {
      // Latched: a wall clock that is stepped back afterwards must not revive the mark.
      spent = true;
      return 0;
    }
    return budgetMs - Math.max(monotonicAge, wallAge);
  };
  return {
    holds: () => remaining() > 0,
    get remainingMs() {
      return remaining();
    },
  };
}
