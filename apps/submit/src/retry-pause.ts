/** How a temporary refusal is tried again. */
export interface RetryPolicy {
  readonly baseMs: number;
  readonly longestMs: number;
  /** Refused tries after which the message is rejected. */
  readonly tries: number;
}

/**
 * Exponential backoff with full jitter: anywhere between nothing and the ceiling, so that rows refused together do not come
 * back together.
 *
 * @param tries tries so far, this one included
 * @param dice uniform in [0, 1)
 */
export function retryPauseMs(policy: RetryPolicy, tries: number, dice: number): number {
  const ceiling = Math.min(policy.longestMs, policy.baseMs * 2 ** Math.min(Math.max(tries - 1, 0), 30));
  return Math.floor(dice * ceiling);
}
