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

/**
 * The pause where no try was used up, since it was the route's or the account's trouble: nothing counts up, so it grows with
 * the age of the message. A message that has waited a minute is looked at every half minute, not every second.
 *
 * @param ageMs how long the message has existed
 * @param dice uniform in [0, 1)
 */
export function outagePauseMs(policy: RetryPolicy, ageMs: number, dice: number): number {
  const ceiling = Math.min(policy.longestMs, Math.max(policy.baseMs, ageMs / 2));
  return Math.floor(ceiling / 2 + (dice * ceiling) / 2);
}
