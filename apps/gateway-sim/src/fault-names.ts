/** What can go wrong with one send request. The README says what each does; "accept" always means: logged and charged. */
export const FAULT_NAMES = [
  'refuse-before-accept',
  'reset-before-accept',
  'hang-before-accept',
  'hold-before-accept',
  'http-500',
  'html-under-200',
  'throttle-429',
  'unlisted-error',
  'accept-then-hang',
  'accept-then-reset',
  'accept-then-502',
  'accept-then-html-under-200',
  'accept-then-plain',
  'accept-then-unlisted-error',
  'accept-slow-first-byte',
  'truncate-reply',
  'invalidMobile',
  'hold',
] as const;

export type FaultName = (typeof FAULT_NAMES)[number];

/** A part of all requests by fault, each 0 to 1. */
export type FaultShares = Partial<Record<FaultName, number>>;

/** What can be wrong with the whole service, reports and account calls included. */
export const OUTAGE_NAMES = ['reset-before-accept', 'hang-before-accept', 'http-500', 'html-under-200'] as const;

export type OutageName = (typeof OUTAGE_NAMES)[number];

function isFaultName(name: string): name is FaultName {
  return (FAULT_NAMES as readonly string[]).includes(name);
}

/**
 * Reads `accept-then-hang=0.01,http-500=0.02`.
 * @throws RangeError that names the first part that is no fault with a share, or the sum if it is above 1.
 */
export function parseFaultShares(text: string): FaultShares {
  const shares: FaultShares = {};
  for (const part of text.split(',').filter((piece) => piece.trim() !== '')) {
    const [name = '', share = ''] = part.split('=').map((piece) => piece.trim());
    if (!isFaultName(name))
      throw new RangeError(`unknown fault ${JSON.stringify(name)}; known: ${FAULT_NAMES.join(', ')}`);
    if (!/^(0(\.\d+)?|1(\.0+)?|\.\d+)$/.test(share)) throw new RangeError(`${name} needs a share from 0 to 1`);
    shares[name] = Number(share);
  }
  assertShares(shares);
  return shares;
}

/** @throws RangeError when a share is outside of 0 to 1 or all together exceed 1. */
export function assertShares(shares: FaultShares): void {
  const values = Object.values(shares);
  if (values.some((share) => !(share >= 0 && share <= 1))) throw new RangeError('a share of faults lies from 0 to 1');
  const sum = values.reduce((total, share) => total + share, 0);
  if (sum > 1 + 1e-9) throw new RangeError(`the shares of all faults add up to ${sum}, more than 1`);
}
