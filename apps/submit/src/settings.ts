import { needCredential, type Problem, SMSGATEWAYCENTER_SETTINGS, WORKER_SETTINGS, whole } from '@sendledger/worker';

/** Settings of the submit app. */
export const SUBMIT_SETTINGS = {
  ...WORKER_SETTINGS,
  ...SMSGATEWAYCENTER_SETTINGS,
  /** Requests this process may have on the wire. */
  SENDLEDGER_SUBMIT_CONCURRENCY: whole(1, 512, 32),
  /** A request ends here, whatever happened. The vendor's own client waits 45 s: a short deadline makes unknowns. */
  SENDLEDGER_REQUEST_DEADLINE_MS: whole(200, 300_000, 50_000),
  /** From the mark on, how long the outcome is waited for before the rows are unknown. */
  SENDLEDGER_REQUEST_LEASE_MS: whole(500, 600_000, 70_000),
  /** What the lease must have over the deadline: time to write the outcome. */
  SENDLEDGER_LEASE_MARGIN_MS: whole(100, 120_000, 10_000),
  /** Age a mark may have when the first byte leaves; lookup, connect and TLS end well before it. */
  SENDLEDGER_SEND_BUDGET_MS: whole(100, 60_000, 5_000),
  /** When the provider's report is read first after a submission. */
  SENDLEDGER_FIRST_REPORT_MS: whole(50, 3_600_000, 30_000),
  /** First pause before a proven temporary refusal is tried again; it doubles with each try, with full jitter. */
  SENDLEDGER_RETRY_BASE_MS: whole(10, 600_000, 2_000),
  SENDLEDGER_RETRY_LONGEST_MS: whole(10, 86_400_000, 300_000),
  /** Tries that the provider itself refused for now, after which the message is rejected. */
  SENDLEDGER_RETRY_TRIES: whole(1, 100, 5),
};

export function checkSubmitSettings(
  settings: {
    SENDLEDGER_REQUEST_DEADLINE_MS: number;
    SENDLEDGER_REQUEST_LEASE_MS: number;
    SENDLEDGER_LEASE_MARGIN_MS: number;
    SENDLEDGER_SEND_BUDGET_MS: number;
    SMSGATEWAYCENTER_PASSWORD?: string | undefined;
    SMSGATEWAYCENTER_APIKEY?: string | undefined;
  },
  problem: Problem,
): void {
  needCredential(settings, problem);
  const needed = settings.SENDLEDGER_REQUEST_DEADLINE_MS + settings.SENDLEDGER_LEASE_MARGIN_MS;
  // A shorter lease would call a request lost that is still on the wire, and its late reply would find another owner.
  if (settings.SENDLEDGER_REQUEST_LEASE_MS < needed)
    problem(
      'SENDLEDGER_REQUEST_LEASE_MS',
      `is ${settings.SENDLEDGER_REQUEST_LEASE_MS}, shorter than SENDLEDGER_REQUEST_DEADLINE_MS + SENDLEDGER_LEASE_MARGIN_MS = ${needed}`,
    );
  if (settings.SENDLEDGER_SEND_BUDGET_MS >= settings.SENDLEDGER_REQUEST_DEADLINE_MS)
    problem('SENDLEDGER_SEND_BUDGET_MS', 'must be shorter than SENDLEDGER_REQUEST_DEADLINE_MS');
}
