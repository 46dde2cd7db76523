import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSmsGatewayCenter, refusalScopeOf } from '../src/index.ts';
import { fullBudget, PASSWORD, requestTo, TXN, USERID } from './support/sending.ts';

/** With these, success or a refusal is what the provider meant. */
const KNOWN_CODES: ReadonlySet<string> = new Set(['200', '147', '171', '213', '216']);
const OURS = ['919999999991', '919999999992'];

function answering(status: number, body: string | Uint8Array) {
  const headers = { 'content-type': null, 'retry-after': null, date: null };
  const transport = {
    post: () => Promise.resolve({ kind: 'reply' as const, status, headers, body: Buffer.from(body) }),
    download: () => Promise.reject(new Error('nothing is downloaded here')),
    close: () => {},
  };
  return createSmsGatewayCenter({ baseUrl: 'http://provider.invalid', userid: USERID, password: PASSWORD, transport });
}

const DAY = { fromDay: '2026-07-17', toDay: '2026-07-17', recipient: null, zone: 'Asia/Kolkata' };

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

  it('of bytes that say neither success nor a known refusal is ambiguous', async () => {
    const status = fc.integer({ min: 100, max: 999 }).filter((code) => code !== 307 && code !== 308);
    await fc.assert(
      fc.asyncProperty(status, fc.uint8Array({ maxLength: 300 }), async (code, bytes) => {
        const outcome = await answering(code, bytes).submit(requestTo(OURS), fullBudget());
        expect(outcome).toMatchObject({ kind: 'ambiguous', unmappedCode: null, providerTxnId: null });
      }),
      { numRuns: 1_000 },
    );
  });

  it('of a form never seen is ambiguous, and a code never seen is named', async () => {
    const unseen = fc.string({ maxLength: 80 }).filter((code) => !KNOWN_CODES.has(code.trim()));
    // 401 to 403, 425 and 429 say by their status whom or what a well-formed error refuses.
    const status = fc.constantFrom(200, 201, 302, 307, 400, 404, 408, 409, 422, 500, 502, 503);
    await fc.assert(
      fc.asyncProperty(status, unseen, fc.jsonValue(), async (code, statusCode, reason) => {
        const body = JSON.stringify({ status: 'error', statusCode, reason });
        const outcome = await answering(code, body).submit(requestTo(OURS), fullBudget());
        expect(outcome.kind).toBe('ambiguous');
        if (outcome.kind === 'ambiguous' && outcome.unmappedCode !== null)
          expect(refusalScopeOf(outcome.unmappedCode)).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  it('to a read is an answer', async () => {
    await fc.assert(
      fc.asyncProperty(anyBody, async (body) => {
        const answer = await answering(200, body).reportByTransaction(TXN, 1);
        const days = await answering(200, body).reportByDays(DAY, () => {});
        const account = await answering(200, body).account();
        const held = await answering(200, body).heldSchedules();
        for (const { detail } of [answer, days, account, held].filter((each) => 'detail' in each))
          expect(detail).not.toContain('our own fault');
      }),
      { numRuns: 500 },
    );
  });

  it('to a change of a schedule is an answer, and only a success under 2xx is done', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(200, 202, 302, 400, 401, 408, 429, 500, 503), anyBody, async (status, body) => {
        const adapter = answering(status, body);
        const answer = await adapter.cancelSchedule(TXN);
        expect(await adapter.moveSchedule(TXN, new Date(1_784_289_600_000), null)).toEqual(answer);
        expect(['done', 'refused', 'ambiguous']).toContain(answer.kind);
        if (answer.kind === 'ambiguous') expect(answer.detail).not.toContain('our own fault');
        if (answer.kind === 'refused') expect(answer.statusCode).not.toBeNull();
        if (answer.kind !== 'done') return;
        expect(status).toBeLessThan(300);
        expect(body.toLowerCase()).toContain('success');
      }),
      { numRuns: 1_000 },
    );
  });
});
