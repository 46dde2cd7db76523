import type { MarkedSubmission } from '@sendledger/core/ledger';
import type { Outcome, Reply } from '@sendledger/gateway';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildRequest } from '../src/build-request.ts';
import { judgeOutcome } from '../src/judge-outcome.ts';
import { outagePauseMs, retryPauseMs } from '../src/retry-pause.ts';

const POLICY = { retry: { baseMs: 1000, longestMs: 60_000, tries: 3 }, firstReportMs: 500, dice: () => 0.5 };
const REPLY: Reply = { httpStatus: 200, raw: null, statusCode: '200', reason: 'success' };

function submission(recipients: readonly string[], attemptCount = 0): MarkedSubmission {
  return {
    id: '1',
    createdAt: new Date(0),
    routeId: '1',
    messageClass: 'transactional',
    size: recipients.length,
    isProbe: false,
    leaseToken: '00000000-0000-4000-8000-000000000000',
    requestedAt: new Date(0),
    notAfter: new Date(1e12),
    rows: recipients.map((recipient, i) => ({
      id: String(i + 1),
      createdAt: new Date(0),
      attemptKey: '00000000-0000-4000-8000-000000000000',
      recipient,
      senderId: 'SHOPIN',
      body: 'x',
      encoding: 'GSM7',
      dltEntityId: null,
      dltTemplateId: null,
      attemptCount,
      submitBy: new Date(1e12),
      holdUntil: null,
    })),
  };
}

const judge = (outcome: Outcome, attemptCount = 0) =>
  judgeOutcome(submission(['91a', '91b'], attemptCount), outcome, POLICY, 60_000);
const refused = (
  scope: 'permanent' | 'temporary' | 'account' | 'throttled',
  retryAfterMs: number | null = null,
): Outcome => ({
  kind: 'refused',
  scope,
  retryAfterMs,
  reply: { ...REPLY, statusCode: '171' },
});

describe('what an outcome means for its rows', () => {
  it('accepted: refused numbers are rejected, unaccounted ones unknown, the rest submitted; the report is read later', () => {
    const judged = judgeOutcome(
      submission(['91a', '91b', '91c']),
      {
        kind: 'accepted',
        providerTxnId: '6305583318236810379',
        rejected: ['91b'],
        unaccounted: ['91c'],
        strangers: [],
        reply: REPLY,
      },
      POLICY,
      60_000,
    );
    expect(judged.rows.map((row) => row.to)).toEqual(['submitted', 'rejected', 'unknown']);
    expect(judged).toMatchObject({ state: 'accepted', providerTxnId: '6305583318236810379', pollInMs: 500 });
  });

  it('accepted without an id: submitted, and looked after until its window ends', () => {
    const judged = judge({
      kind: 'accepted',
      providerTxnId: null,
      rejected: [],
      unaccounted: [],
      strangers: [],
      reply: REPLY,
    });
    expect(judged).toMatchObject({
      state: 'accepted',
      pollInMs: 500,
      rows: [{ to: 'submitted' }, { to: 'submitted' }],
    });
  });

  it('ambiguous, also for a refusal whose code nobody mapped: unknown, never retry', () => {
    for (const unmappedCode of [null, '9999'])
      expect(judge({ kind: 'ambiguous', detail: 'timeout', unmappedCode, reply: REPLY })).toMatchObject({
        state: 'ambiguous',
        rows: [{ to: 'unknown' }, { to: 'unknown' }],
      });
  });

  it('not sent: retry with its proof, and no try used up', () => {
    const judged = judge({ kind: 'not_sent', proof: 'no_connection', detail: 'ECONNREFUSED', reply: REPLY }, 99);
    expect(judged).toMatchObject({ state: 'not_sent', proof: 'no_connection: ECONNREFUSED' });
    expect(judged.rows).toMatchObject([
      { to: 'retry', countsAsAttempt: false },
      { to: 'retry', countsAsAttempt: false },
    ]);
  });

  it('refused for good: rejected', () => {
    expect(judge(refused('permanent')).rows[0]).toMatchObject({ to: 'rejected', reason: 'refused' });
  });

  it('refused for now: retry until its own refusals use up the tries, then rejected', () => {
    expect(judge(refused('temporary'), 0).rows[0]).toMatchObject({
      to: 'retry',
      countsAsAttempt: true,
      retryInMs: 500,
    });
    expect(judge(refused('temporary'), 1).rows[0]).toMatchObject({ to: 'retry', retryInMs: 1000 });
    expect(judge(refused('temporary'), 2).rows[0]).toMatchObject({ to: 'rejected', reason: 'attempts_exhausted' });
  });

  it.each(['account', 'throttled'] as const)('%s: retry whatever was tried before, and no try used up', (scope) => {
    expect(judge(refused(scope, 7_000), 50).rows[0]).toMatchObject({ to: 'retry', countsAsAttempt: false });
    expect(judge(refused(scope, 90_000), 0).rows[0]?.retryInMs).toBe(90_000);
  });
});

describe('the pause before another try', () => {
  it('is anywhere between nothing and a ceiling that doubles up to the longest', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (tries, dice) => {
          const pause = retryPauseMs(POLICY.retry, tries, dice);
          expect(pause).toBeGreaterThanOrEqual(0);
          expect(pause).toBeLessThanOrEqual(Math.min(60_000, 1000 * 2 ** Math.min(tries - 1, 30)));
        },
      ),
    );
  });
});

describe('the pause during an outage', () => {
  it.each([
    [0, 500, 1_000],
    [10_000, 2_500, 5_000],
    [1e9, 30_000, 60_000],
  ])('of a message that is %d ms old is between %d and %d', (ageMs, least, most) => {
    expect(outagePauseMs(POLICY.retry, ageMs, 0)).toBe(least);
    expect(outagePauseMs(POLICY.retry, ageMs, 0.999_999)).toBeCloseTo(most, -1);
  });
});

describe('the request built from the rows of a mark', () => {
  it('carries each recipient once', () => {
    expect(buildRequest(submission(['91a', '91b']), 'UTC')).toMatchObject({ recipients: ['91a', '91b'], body: 'x' });
  });

  it('names the first end of validity among its rows, and until when it is held', () => {
    const { rows, ...rest } = submission(['91a', '91b']);
    const [first, second] = rows;
    if (first === undefined || second === undefined) throw new Error('no rows');
    const held = new Date('2026-12-01T04:30:00Z');
    const request = buildRequest(
      {
        ...rest,
        rows: [
          { ...first, submitBy: new Date(5_000), holdUntil: held },
          { ...second, submitBy: new Date(4_000), holdUntil: held },
        ],
      },
      'Asia/Kolkata',
    );
    expect(request).toMatchObject({ validUntil: new Date(4_000), scheduleAt: held, scheduleZone: 'Asia/Kolkata' });
  });

  it.each([
    ['no rows', { ...submission(['91a']), rows: [] }],
    ['fewer rows than its size', { ...submission(['91a']), size: 2 }],
    ['a recipient twice', submission(['91a', '91a'])],
    ['two passwords', { ...submission(['91a', '91b']), messageClass: 'otp' as const }],
    [
      'different times for the provider to hold it',
      {
        ...submission(['91a', '91b']),
        rows: submission(['91a', '91b']).rows.map((row, i) => ({ ...row, holdUntil: new Date(i) })),
      },
    ],
    [
      'different texts',
      {
        ...submission(['91a', '91b']),
        rows: submission(['91a', '91b']).rows.map((row, i) => ({ ...row, body: String(i) })),
      },
    ],
  ])('is not built from %s', (_, odd) => {
    expect(buildRequest(odd, 'UTC')).toHaveProperty('unbuildable');
  });
});
