import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyFailure, type Phase, type TransportFailure } from '../src/index.ts';

const NOTHING: TransportFailure = {
  kind: 'failure',
  phase: 'start',
  secure: true,
  code: null,
  syscall: null,
  event: null,
  reusedSocket: false,
  budgetSpent: false,
  partial: null,
};

const anyFailure = fc.record<TransportFailure>({
  kind: fc.constant('failure' as const),
  phase: fc.constantFrom<Phase>('start', 'lookup', 'connect', 'tls', 'open', 'reply'),
  secure: fc.boolean(),
  code: fc.option(
    fc.constantFrom('ECONNRESET', 'ETIMEDOUT', 'ENOTFOUND', 'ECONNREFUSED', 'EPIPE', 'HPE_INVALID', 'x y'),
  ),
  syscall: fc.option(fc.constantFrom('connect', 'read', 'write', 'getaddrinfo')),
  event: fc.option(fc.constantFrom('lookup', 'connect', 'secureConnect', 'response', 'request')),
  reusedSocket: fc.boolean(),
  budgetSpent: fc.boolean(),
  partial: fc.constant(null),
});

describe('a request without a complete reply', () => {
  it.each([
    ['the name was not found', { phase: 'lookup', code: 'ENOTFOUND' }, 'no_name'],
    ['the lookup timed out', { phase: 'lookup', code: 'ETIMEDOUT', event: 'lookup' }, 'no_name'],
    ['refused', { phase: 'connect', code: 'ECONNREFUSED', syscall: 'connect' }, 'no_connection'],
    ['unreachable', { phase: 'connect', code: 'EHOSTUNREACH', syscall: 'connect' }, 'no_connection'],
    ['no file descriptor was left', { phase: 'connect', code: 'EMFILE', syscall: 'connect' }, 'no_connection'],
    [
      'the total deadline passed while connecting',
      { phase: 'connect', code: 'ETIMEDOUT', event: 'request' },
      'no_connection',
    ],
    ['aborted before a socket', { phase: 'start', code: 'ERR_ABORTED' }, 'no_connection'],
    ['reset inside the handshake', { phase: 'tls', code: 'ECONNRESET', syscall: 'read' }, 'no_tls'],
    ['the send budget was spent', { phase: 'connect', code: 'SEND_BUDGET_SPENT', budgetSpent: true }, 'send_budget'],
    [
      'the send budget was spent, seen on a reused socket',
      { phase: 'start', reusedSocket: true, budgetSpent: true },
      'send_budget',
    ],
  ] as const)('is not sent: %s', (_, facts, proof) => {
    expect(classifyFailure({ ...NOTHING, ...facts })).toMatchObject({ kind: 'not_sent', proof });
  });

  it.each([
    ['reset after connect', { phase: 'open', code: 'ECONNRESET', syscall: 'read' }],
    ['stale socket', { phase: 'open', code: 'ECONNRESET', reusedSocket: true }],
    ['response time-out', { phase: 'open', code: 'ETIMEDOUT', event: 'response' }],
    ['broken reply', { phase: 'reply', code: 'ERR_HTTP_CONTENT_LENGTH_MISMATCH' }],
    ['a handshake on plain http', { phase: 'tls', secure: false }],
    ['a read before a connection', { phase: 'connect', code: 'ECONNRESET', syscall: 'read' }],
    ['a connect code after the connection', { phase: 'open', code: 'ECONNREFUSED', syscall: 'connect' }],
    ['budget spent after the connection was open', { phase: 'open', budgetSpent: true }],
  ] as const)('is ambiguous: %s', (_, facts) => {
    expect(classifyFailure({ ...NOTHING, ...facts }).kind).toBe('ambiguous');
  });

  it('is never called unsent once the connection was open, whatever the other facts are', () => {
    fc.assert(
      fc.property(anyFailure, (failure) => {
        const verdict = classifyFailure(failure);
        const early =
          ['start', 'lookup', 'connect'].includes(failure.phase) || (failure.phase === 'tls' && failure.secure);
        if (!early) expect(verdict.kind).toBe('ambiguous');
        expect(verdict.detail).not.toContain('x y');
      }),
      { numRuns: 2_000 },
    );
  });
});
