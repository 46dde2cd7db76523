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
export const THROTTLED: ProviderError = { statusCode: '9904', reason: 'Too many requests (simulator)' };
export const NO_SUCH_SCHEDULE: ProviderError = { statusCode: '9905', reason: 'No such schedule (simulator)' };
/** A code that no table of any client can know. */
export const UNLISTED: ProviderError = { statusCode: '9907', reason: 'Something else (simulator)' };
export const SCHEDULE_TOO_LATE: ProviderError = {
  statusCode: '9908',
  reason: 'The schedule was already processed (simulator)',
};
export const DAY_NOT_AVAILABLE: ProviderError = {
  statusCode: '9910',
  reason: 'The report of this day is not available yet (simulator)',
};

export function badParameter(what: string): ProviderError {
  return { statusCode: '9901', reason: `${what} (simulator)` };
}
