/** An error as the provider words it: HTTP 200 with a flat body. */
export interface ProviderError {
  statusCode: string;
  reason: string;
}

/** Observed codes: see the README for where. */
export const INVALID_CREDENTIALS: ProviderError = { statusCode: '216', reason: 'Invalid credentials' };
export const TEXT_MISMATCH: ProviderError = { statusCode: '171', reason: 'Msg Text and MsgType Mismatch' };

export function badBoolean(parameter: string): ProviderError {
  return { statusCode: '147', reason: `Invalid value for ${parameter}` };
}

// Invented codes have four digits, which no code of the provider has: nobody can take them for documented ones.
export const INSUFFICIENT_BALANCE: ProviderError = { statusCode: '9902', reason: 'Insufficient balance (simulator)' };
export const TEMPORARY: ProviderError = {
  statusCode: '9903',
  reason: 'Temporarily unavailable, try later (simulator)',
};

export function badParameter(what: string): ProviderError {
  return { statusCode: '9901', reason: `${what} (simulator)` };
}
