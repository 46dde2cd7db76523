import { describe, expect, it } from 'vitest';
import { startProvider } from './support/provider-server.ts';
import { refusal } from './support/replies.ts';
import { adapterFor, PASSWORD, USERID } from './support/sending.ts';

async function accountOf(body: string, status = 200) {
  const server = await startProvider((_, response) => {
    response.writeHead(status);
    response.end(body);
  });
  return { answer: await adapterFor(server.url).account(), requests: server.requests };
}

const nested = (account: unknown, more: Record<string, unknown> = {}) =>
  JSON.stringify({
    response: { api: 'account', action: 'readstatus', status: 'success', code: '200', ...more, account },
  });

describe('the account', () => {
  it('is asked for by a call that sends nothing', async () => {
    const { requests } = await accountOf(nested({ smsBalance: '1' }));
    expect(requests.map(({ path, method }) => ({ path, method }))).toEqual([
      { path: '/SMSApi/account/readstatus', method: 'POST' },
    ]);
    expect(Object.fromEntries(requests[0]?.form ?? [])).toEqual({ output: 'json', userid: USERID, password: PASSWORD });
  });

  it.each([
    ['"104.5000"', '104.5000', false],
    ['104.50', '104.50', false],
    ['"99999999999999999.25"', '99999999999999999.25', false],
    ['99999999999999999.25', '99999999999999999.25', false],
    ['"0"', '0', true],
    ['"0.00"', '0.00', true],
    ['0', '0', true],
    ['"-0.01"', '-0.01', true],
    ['"-5"', '-5', true],
    ['"0.01"', '0.01', false],
  ])('has the balance %s', async (written, balance, empty) => {
    const body = nested({ smsBalance: 'HERE', userCreditType: '2' }).replace('"HERE"', written);
    expect((await accountOf(body)).answer).toEqual({ kind: 'ok', balance, empty });
  });

  it.each([[{ smsBalance: 'plenty' }], [{ smsBalance: '1,000' }], [{ smsBalance: '1e3' }], [{}], [null], [[]]])(
    'is fine and of unknown balance with %j',
    async (account) => {
      expect((await accountOf(nested(account))).answer).toEqual({ kind: 'ok', balance: null, empty: false });
    },
  );

  it.each([
    ['flat', refusal('216', { reason: 'Invalid credentials' }), '216', 'Invalid credentials'],
    ['nested', nested(null, { status: 'error', code: 216, msg: 'Invalid credentials' }), '216', 'Invalid credentials'],
  ])('is refused by an error: %s', async (_, body, code, detail) => {
    expect((await accountOf(body)).answer).toEqual({ kind: 'refused', code, detail });
    expect((await accountOf(body, 401)).answer).toMatchObject({ kind: 'refused' });
  });

  it.each([
    ['of a code that nobody has mapped', refusal('991', { reason: `not ${USERID}` }), 'error 991: not [redacted]'],
    ['of a known code that is about the request', refusal('147'), 'error 147: words'],
    ['without a code', '{"status":"error"}', 'an error without a code: no reason given'],
  ])('is unavailable, and not refused, after an error %s', async (_, body, detail) => {
    for (const status of [200, 401])
      expect((await accountOf(body, status)).answer).toEqual({ kind: 'unavailable', detail });
  });

  it('is refused by a code that was configured to be about the account, and by no other', async () => {
    const server = await startProvider((_, response) => response.end(refusal('991')));
    const mapped = (scope: 'account' | 'temporary') =>
      adapterFor(server.url, {}, {}, { extraCodes: { '991': scope } }).account();
    expect(await mapped('account')).toEqual({ kind: 'refused', code: '991', detail: 'words' });
    expect(await mapped('temporary')).toMatchObject({ kind: 'unavailable' });
  });

  it.each([
    ['1', true],
    ['2', true],
    [2, true],
    ['3', false],
    ['', false],
    [null, false],
    [undefined, false],
  ])('of credit type %j with nothing on it is empty: %j', async (userCreditType, empty) => {
    for (const smsBalance of ['0.00', '-12.5'])
      expect((await accountOf(nested({ smsBalance, userCreditType }))).answer).toEqual({
        kind: 'ok',
        balance: smsBalance,
        empty,
      });
  });

  it('does not repeat a credential that the refusal quotes', async () => {
    const { answer } = await accountOf(refusal('216', { reason: `no user ${USERID} with ${PASSWORD}` }));
    expect(answer).toMatchObject({ kind: 'refused', detail: 'no user [redacted] with [redacted]' });
  });

  it.each([
    ['HTML', '<html>', 200],
    ['nothing', '', 200],
    ['plain text', 'success | 104.50', 200],
    ['another form', '{"ok":true}', 200],
    ['a success with another code', nested({ smsBalance: '1' }, { code: '300' }), 200],
    ['an error with the code of success', refusal('200'), 200],
    ['a success under 404', nested({ smsBalance: '1' }), 404],
    ['a refusal by a server in trouble', refusal('216'), 503],
    ['a refusal of our pace', refusal('216'), 429],
    ['a redirect', '', 307],
  ])('is unavailable after %s', async (_, body, status) => {
    expect((await accountOf(body, status)).answer.kind).toBe('unavailable');
  });

  it('is unavailable when nobody is there, or it is aborted', async () => {
    expect((await adapterFor('http://127.0.0.1:1').account()).kind).toBe('unavailable');
    expect((await adapterFor('http://127.0.0.1:1').account(AbortSignal.abort())).kind).toBe('unavailable');
  });
});
