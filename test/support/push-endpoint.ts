import type { AppProcess } from './app-process.ts';

/** Of tests only; long enough, and of the letters that are allowed. */
export const PUSH_SECRET = 'only-a-test-has-this_secret-0123456789';

/** Settings of a reconcile app that takes pushes on a free port. */
export const TAKES_PUSHES = { SENDLEDGER_PUSH_PORT: '0', SENDLEDGER_PUSH_SECRET: PUSH_SECRET };

/** For a claim app without a reconcile app beside it: nobody gives a lease back that ran out on a busy machine. */
export const LONG_CLAIM_LEASE = { SENDLEDGER_CLAIM_LEASE_MS: '120000' };

/** Where such an app takes the pushes of the test account. Resolves when it listens. */
export async function pushUrlOf(app: AppProcess): Promise<string> {
  const { url } = await app.saw((line) => line.event === 'push_listening');
  return `${String(url)}/push/smsgatewaycenter/default/${PUSH_SECRET}`;
}
