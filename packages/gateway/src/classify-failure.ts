import type { NotSentProof } from './outcome.ts';
import type { TransportFailure } from './transport.ts';

export type FailureVerdict =
  | { readonly kind: 'not_sent'; readonly proof: NotSentProof; readonly detail: string }
  | { readonly kind: 'ambiguous'; readonly detail: string };

/**
 * Judges a request without a complete reply: a total function of the facts, whose default is `ambiguous`. The phase
 * decides and the error code never does, since one code (ECONNRESET, ETIMEDOUT) is seen before and after the request
 * was handed over. Facts that contradict an early phase take its proof away.
 */
export function classifyFailure(failure: TransportFailure): FailureVerdict {
  const detail = describe(failure);
  const proof = proofOf(failure);
  return proof === null ? { kind: 'ambiguous', detail } : { kind: 'not_sent', proof, detail };
}

function proofOf(failure: TransportFailure): NotSentProof | null {
  if (failure.partial !== null) return null;
  switch (failure.phase) {
    case 'start':
      if (failure.budgetSpent) return 'send_budget';
      return failure.reusedSocket || movedBytes(failure) ? null : 'no_connection';
    case 'lookup':
      if (failure.budgetSpent) return 'send_budget';
      return failure.reusedSocket || movedBytes(failure) ? null : 'no_name';
    case 'connect':
      if (failure.budgetSpent) return 'send_budget';
      return failure.reusedSocket || movedBytes(failure) ? null : 'no_connection';
    case 'tls':
      if (!failure.secure) return null;
      if (failure.budgetSpent) return 'send_budget';
      // A handshake reads and writes, so a syscall contradicts nothing here: only its own bytes were on the wire.
      return failure.reusedSocket ? null : 'no_tls';
    default:
      return null;
  }
}

/** A read or write before a connection existed cannot be: something else than we believe has happened. */
function movedBytes(failure: TransportFailure): boolean {
  return failure.syscall === 'read' || failure.syscall === 'write';
}

function describe(failure: TransportFailure): string {
  const words = [`phase ${failure.phase}`, codeWord(failure.code)];
  if (failure.event !== null) words.push(`time-out ${codeWord(failure.event)}`);
  if (failure.partial !== null) words.push(`broken reply, status ${failure.partial.status}`);
  return words.join(', ');
}

/** Codes are a small vocabulary of plain words; anything else might carry what it should not. */
function codeWord(code: string | null): string {
  if (code === null) return 'no error code';
  return /^[A-Za-z0-9_]{1,60}$/.test(code) ? code : 'unprintable error code';
}
