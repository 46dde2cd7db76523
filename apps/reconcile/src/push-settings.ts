import { type Problem, WORKER_SETTINGS, whole } from '@sendledger/worker';

/** Settings of pushed receipts and of the watch on the account. */
export const PUSH_SETTINGS = {
  /** Where pushes are taken; without it none are. 0 takes a free port and logs it. */
  SENDLEDGER_PUSH_PORT: whole(0, 65_535, 0).unwrap().optional(),
  SENDLEDGER_PUSH_HOST: WORKER_SETTINGS.SENDLEDGER_HEALTH_HOST,
  /** The last part of the path `/push/<provider>/<account>/<secret>`: whoever knows it may push. Needed with the port. */
  SENDLEDGER_PUSH_SECRET: WORKER_SETTINGS.SENDLEDGER_HEALTH_HOST.unwrap().optional(),
  /** Longest body of a push, bytes. */
  SENDLEDGER_PUSH_BODY_LIMIT: whole(1_024, 1_048_576, 65_536),
  /** How long a push waits for its receipts to be on disk; then it is answered 503. */
  SENDLEDGER_PUSH_STORE_WITHIN_MS: whole(50, 60_000, 2_000),
  /** Pause between two questions whether the account is good; a loop that is quiet for two minutes counts as stuck. */
  SENDLEDGER_ACCOUNT_INTERVAL_MS: whole(100, 90_000, 60_000),
};

export function checkPushSettings(
  settings: { SENDLEDGER_PUSH_PORT?: number | undefined; SENDLEDGER_PUSH_SECRET?: string | undefined },
  problem: Problem,
): void {
  if (settings.SENDLEDGER_PUSH_PORT === undefined) return;
  if (!/^[\w-]{32,}$/.test(settings.SENDLEDGER_PUSH_SECRET ?? ''))
    problem(
      'SENDLEDGER_PUSH_SECRET',
      'must be at least 32 characters of A-Z, a-z, 0-9, _ and - where SENDLEDGER_PUSH_PORT is set',
    );
}
