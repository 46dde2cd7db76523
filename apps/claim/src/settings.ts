import { type Problem, WORKER_SETTINGS, whole } from '@sendledger/worker';

/** Settings of the claim app. */
export const CLAIM_SETTINGS = {
  ...WORKER_SETTINGS,
  /** Due rows looked at in one transaction. */
  SENDLEDGER_CLAIM_BATCH: whole(1, 5_000, 500),
  /** How long a claimed submission waits for its mark before it is given back. */
  SENDLEDGER_CLAIM_LEASE_MS: whole(1_000, 600_000, 20_000),
};

export function checkClaimSettings(
  settings: { SENDLEDGER_CLAIM_LEASE_MS: number; SENDLEDGER_POLL_INTERVAL_MS: number },
  problem: Problem,
): void {
  // Without wake-ups a submission is found by the next poll; a lease that ends before would only ever be released.
  if (settings.SENDLEDGER_CLAIM_LEASE_MS < 2 * settings.SENDLEDGER_POLL_INTERVAL_MS)
    problem('SENDLEDGER_CLAIM_LEASE_MS', 'must be at least twice SENDLEDGER_POLL_INTERVAL_MS');
}
