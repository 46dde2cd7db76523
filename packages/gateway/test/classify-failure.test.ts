import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyFailure, NOT_SENT_PROOFS, type Phase, type TransportFailure } from '../src/index.ts';

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

const text = fc.option(
  fc.oneof(fc.constantFrom('ECONNRESET', 'ETIMEDOUT', 'ECONNREFUSED', 'EPIPE', 'x y'), fc.string()),
);
const anyFailure = fc.record<TransportFailure>({
  kind: fc.constant('failure' as const),
  phase: fc.constantFrom<Phase>('start', 'lookup', 'connect', 'tls', 'open', 'reply'),
  secure: fc.boolean(),
  code: text,
  syscall: fc.option(fc.oneof(fc.constantFrom('connect', 'read', 'write', 'getaddrinfo'), fc.string())),
  event: fc.option(fc.oneof(fc.constantFrom('lookup', 'connect', 'secureConnect', 'response', 'request'), fc.string())),
  reusedSocket: fc.boolean(),
  budgetSpent: fc.boolean(),
  partial: fc.option(
    fc.record({
      status: fc.nat(999),
      headers: fc.constant({ 'content-type': null, 'retry-after': null, date: null }),
      body: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    }),
  ),
});

/** What a socket can be made to show is in the outcome table; these need an exhausted machine, or contradict themselves. */
describe('a request without a complete reply', () => {
  it.each([
    ['unreachable', { phase: 'connect', code: 'EHOSTUNREACH', syscall: 'connect' }, 'no_connection'],
    ['no address of ours was left', { phase: 'connect', code: 'EADDRNOTAVAIL', syscall: 'connect' }, 'no_connection'],
    ['no file descriptor was left', { phase: 'connect', code: 'EMFILE', syscall: 'connect' }, 'no_connection'],
    ['reset during connect', { phase: 'connect', code: 'ECONNRESET', syscall: 'connect' }, 'no_connection'],
    ['the system gave up connecting', { phase: 'connect', code: 'ETIMEDOUT', syscall: 'connect' }, 'no_connection'],
  ] as const)('is not sent: %s', (_, facts, proof) => {
    expect(classifyFailure({ ...NOTHING, ...facts })).toMatchObject({ kind: 'not_sent', proof });
  });

  it.each([
    ['a handshake on plain http', { phase: 'tls', secure: false }],
    ['a read before a connection', { phase: 'connect', code: 'ECONNRESET', syscall: 'read' }],
    ['a connect code after the connection', { phase: 'open', code: 'ECONNREFUSED', syscall: 'connect' }],
    ['budget spent after the connection was open', { phase: 'open', budgetSpent: true }],
  ] as const)('is ambiguous: %s', (_, facts) => {
    expect(classifyFailure({ ...NOTHING, ...facts }).kind).toBe('ambiguous');
  });

  it('is ambiguous once the connection was open, whatever the other facts are, seen before or not', () => {
    fc.assert(
      fc.property(anyFailure, (failure) => {
        const verdict = classifyFailure(failure);
        const early =
          ['start', 'lookup', 'connect'].includes(failure.phase) || (failure.phase === 'tls' && failure.secure);
        if (!early || failure.partial !== null) expect(verdict.kind).toBe('ambiguous');
        if (verdict.kind === 'not_sent') expect(NOT_SENT_PROOFS).toContain(verdict.proof);
        expect(verdict.detail).toMatch(/^[\w ,-]{1,300}$/);
      }),
      { numRuns: 5_000 },
    );
  });
});
