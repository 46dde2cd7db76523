import type { TransactionHead } from './books.ts';
import type { GatewaySimOptions } from './options.ts';

const DAY_MS = 86_400_000;

/** Whether reports show a transaction now: it went out, the lag is over, it is not yet forgotten. */
export function isVisible(
  { dispatchedAt, schedule }: TransactionHead,
  options: Pick<GatewaySimOptions, 'visibilityLagMs' | 'retentionDays' | 'now'>,
): boolean {
  if (schedule !== null && schedule.cancelledAt !== null) return false;
  const age = options.now() - dispatchedAt;
  return age >= options.visibilityLagMs && (options.retentionDays === null || age < options.retentionDays * DAY_MS);
}
