import { createHash, timingSafeEqual } from 'node:crypto';

/** Where a push went to: `/push/<provider>/<account>/<secret>`, and a query that may carry the receipt. */
export interface PushPath {
  readonly provider: string;
  readonly account: string;
  /** As given; nobody has compared it yet. */
  readonly secret: string;
  readonly query: URLSearchParams;
}

/** Reads the target of a request; null for everything that is not of the form above. */
export function readPushPath(target: string): PushPath | null {
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const [root, push, provider, account, secret, ...more] = path.split('/');
  if (root !== '' || push !== 'push' || !provider || !account || !secret || more.length > 0) return null;
  try {
    return {
      provider: decodeURIComponent(provider),
      account: decodeURIComponent(account),
      secret,
      query: new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1)),
    };
  } catch {
    return null;
  }
}

/** Compares in constant time, also what is of another length. */
export function isSameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(secret).digest());
}
