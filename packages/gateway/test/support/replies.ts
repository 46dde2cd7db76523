import { TXN } from './sending.ts';

/** A success as the provider writes it. */
export function success(changes: Readonly<Record<string, unknown>> = {}): string {
  const fields = { status: 'success', mobile: '', invalidMobile: '', transactionId: TXN, statusCode: '200' };
  return JSON.stringify({ ...fields, reason: 'success', ...changes });
}

/** An error as the provider writes it. */
export function refusal(statusCode: unknown, changes: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ status: 'error', statusCode, reason: 'words', ...changes });
}
