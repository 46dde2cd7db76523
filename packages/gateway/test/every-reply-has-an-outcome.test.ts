import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSmsGatewayCenter } from '../src/index.ts';
import { fullBudget, PASSWORD, requestTo, TXN, USERID } from './support/sending.ts';

const OURS = ['919999999991', '919999999992'];

function answering(status: number, body: string) {
  const headers = { 'content-type': null, 'retry-after': null, date: null };
  const transport = {
    post: () => Promise.resolve({ kind: 'reply' as const, status, headers, body: Buffer.from(body) }),
    close: () => {},
  };
  return createSmsGatewayCenter({ baseUrl: 'http://provider.invalid', userid: USERID, password: PASSWORD, transport });
}

const word = fc.oneof(
  fc.constantFrom('success', 'error', 'Success ', '200', '216', '171', TXN, '0', '', null, ...OURS, OURS.join(',')),
  fc.jsonValue(),
);
const flat = fc.record(
  { status: word, statusCode: word, code: word, transactionId: word, mobile: word, invalidMobile: word, reason: word },
  { requiredKeys: [] },
);
const anyBody = fc.oneof(
  fc.string(),
  fc.json(),
  flat.map((fields) => JSON.stringify(fields)),
  fc.tuple(flat, flat).map(([outer, response]) => JSON.stringify({ ...outer, response })),
);

describe('every reply', () => {
  it('has one outcome, in which no number of ours is lost or counted twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(200, 202, 302, 400, 401, 429, 500, 503), anyBody, async (status, body) => {
        const outcome = await answering(status, body).submit(requestTo(OURS), fullBudget());
        expect(['accepted', 'refused', 'ambiguous']).toContain(outcome.kind);
        if (outcome.kind === 'ambiguous') expect(outcome.detail).not.toContain('our own fault');
        if (outcome.kind !== 'accepted') return;
        expect(status).toBeLessThan(300);
        expect(body.toLowerCase()).toContain('success');
        const named = [...outcome.rejected, ...outcome.unaccounted];
        expect(new Set(named).size).toBe(named.length);
        expect(OURS).toEqual(expect.arrayContaining(named));
      }),
      { numRuns: 1_000 },
    );
  });

  it('to a read is an answer', async () => {
    await fc.assert(
      fc.asyncProperty(anyBody, async (body) => {
        const answer = await answering(200, body).reportByTransaction(TXN, 1);
        if (answer.kind === 'unavailable') expect(answer.detail).not.toContain('our own fault');
      }),
      { numRuns: 500 },
    );
  });
});
