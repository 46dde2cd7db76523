/**
 * What an outcome says about the route it came by. `alive`: the provider answered, for or against the message. `failure`: nobody
 * can say what happened, or nothing could be sent. `trip`: nothing of this account will pass until somebody acts (bad
 * credentials, an empty balance). What says nothing about the route (our own send budget, a throttle) has no sign.
 */
export type BreakerSign = 'alive' | 'failure' | 'trip';

export interface BreakerEvent {
  readonly sign: BreakerSign;
  /** The outcome of the one request that an open breaker lets through. */
  readonly probe: boolean;
  readonly reason: string;
  /** When the request was marked, ms; absent: now. */
  readonly requestedAtMs?: number;
}

export interface BreakerFacts {
  readonly state: 'closed' | 'open';
  /** Failures in a row. */
  readonly failures: number;
  readonly threshold: number;
  /** When it opened, if it is open, and when it last closed, ms. */
  readonly openedAtMs?: number | null;
  readonly closedAtMs?: number | null;
}

export interface BreakerVerdict {
  readonly state: 'closed' | 'open';
  readonly failures: number;
  /** Why it opened just now. */
  readonly opened: string | null;
  readonly closed: boolean;
}

/** More in a row say nothing more; the count is for people. */
const MOST_FAILURES = 1_000_000;

/**
 * Folds outcomes, in the order in which they came, into the breaker of their route. Only a probe closes it: what was on the wire
 * when it opened may still succeed, and says nothing about now. Nor do failures of requests from before it closed: they are the
 * stragglers of the outage that is over. And a probe left over from an earlier time is none of this one.
 */
export function foldBreaker(facts: BreakerFacts, events: readonly BreakerEvent[]): BreakerVerdict {
  let { state, failures } = facts;
  let opened: string | null = null;
  let closed = false;
  for (const event of events) {
    const at = event.requestedAtMs ?? Number.POSITIVE_INFINITY;
    if (event.sign === 'failure' && at < (facts.closedAtMs ?? Number.NEGATIVE_INFINITY)) continue;
    if (event.sign === 'alive') {
      const probe = event.probe && at >= (facts.openedAtMs ?? Number.NEGATIVE_INFINITY);
      if (state === 'open' && !probe) continue;
      closed ||= state === 'open';
      if (state === 'open') opened = null;
      state = 'closed';
      failures = 0;
      continue;
    }
    failures = Math.min(failures + 1, MOST_FAILURES);
    if (state === 'closed' && (event.sign === 'trip' || failures >= facts.threshold)) {
      state = 'open';
      opened = event.reason;
      closed = false;
    }
  }
  return { state, failures, opened, closed: closed && state === 'closed' && facts.state === 'open' };
}
