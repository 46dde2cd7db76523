import { describe, expect, it } from 'vitest';
import { startProvider } from './support/provider-server.ts';
import { API_KEY, adapterFor, BODY, fullBudget, PASSWORD, requestTo, TXN, USERID } from './support/sending.ts';

const SUCCESS = `{"status":"success","mobile":"919999999999","invalidMobile":"","transactionId":"${TXN}","statusCode":"200","reason":"success"}`;

/** Answers as the provider does: in plain text unless JSON is asked for. */
function startDefaultProvider() {
  return startProvider((request, response) => {
    if (request.form.get('output') === 'json') response.end(SUCCESS);
    else response.end(`success | 919999999999 | ${TXN} | 200 | success`);
  });
}

describe('the request to the provider', () => {
  it('is one form POST with everything the provider asks for', async () => {
    const server = await startDefaultProvider();
    await adapterFor(server.url).submit(requestTo(['919999999999', '919999999998']), fullBudget());
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests;
    expect(request?.method).toBe('POST');
    expect(request?.path).toBe('/SMSApi/send');
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(request?.headers.cookie).toBeUndefined();
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      output: 'json',
      userid: USERID,
      password: PASSWORD,
      sendMethod: 'quick',
      mobile: '919999999999,919999999998',
      msg: BODY,
      senderid: 'SMSGAT',
      msgType: 'text',
      duplicatecheck: 'true',
      dltEntityId: '1234567890123456789',
      dltTemplateId: '0234567890123456789',
    });
  });

  it('asks for JSON on every call, since the default is plain text', async () => {
    const server = await startDefaultProvider();
    const adapter = adapterFor(server.url);
    const outcome = await adapter.submit(requestTo(['919999999999']), fullBudget());
    expect(outcome).toMatchObject({ kind: 'accepted', providerTxnId: TXN });
    await adapter.reportByTransaction(TXN, 1);
    expect(server.requests.map((request) => request.form.get('output'))).toEqual(['json', 'json']);
  });

  it('sends the user id along with a key, which goes into a header', async () => {
    const server = await startDefaultProvider();
    const adapter = adapterFor(server.url, {}, {}, { password: undefined, apiKey: API_KEY });
    await adapter.submit(requestTo(['919999999999']), fullBudget());
    const [request] = server.requests;
    expect(request?.headers.apikey).toBe(API_KEY);
    expect(request?.form.get('userid')).toBe(USERID);
    expect(request?.form.has('password')).toBe(false);
  });

  it('leaves out template ids that a message does not have', async () => {
    const server = await startDefaultProvider();
    const request = requestTo(['919999999999'], { dltEntityId: null, dltTemplateId: null });
    await adapterFor(server.url).submit(request, fullBudget());
    expect(server.requests[0]?.form.has('dltEntityId')).toBe(false);
    expect(server.requests[0]?.form.has('dltTemplateId')).toBe(false);
  });

  it.each(['Café 5', 'नमस्ते', '€5', '👋'])('sends %s as unicode, unharmed', async (body) => {
    const server = await startDefaultProvider();
    await adapterFor(server.url).submit(requestTo(['919999999999'], { body, encoding: 'UCS2' }), fullBudget());
    expect(server.requests[0]?.form.get('msgType')).toBe('unicode');
    expect(server.requests[0]?.form.get('msg')).toBe(body);
  });

  it('sends a text that was priced as UCS2 as unicode even where it is ASCII, since the bill follows the type', async () => {
    const server = await startDefaultProvider();
    await adapterFor(server.url).submit(requestTo(['919999999999'], { body: '`', encoding: 'UCS2' }), fullBudget());
    expect(server.requests[0]?.form.get('msgType')).toBe('unicode');
  });

  it.each([
    ['no recipient', { recipients: [] }],
    ['a number that the provider would read as an Indian one', { recipients: ['4791234567'] }],
    ['a recipient twice', { recipients: ['919999999999', '919999999999'] }],
    ['a recipient with a plus', { recipients: ['+919999999999'] }],
    [
      'more recipients than one request takes',
      { recipients: Array.from({ length: 501 }, (_, i) => `${910000000000 + i}`) },
    ],
    ['a batched one-time password', { recipients: ['919999999999', '919999999998'], messageClass: 'otp' }],
    ['an empty text', { body: '' }],
    ['half a surrogate pair', { body: 'a\ud83d', encoding: 'UCS2' }],
    ['no sender', { senderId: null }],
    ['an accent that was priced as GSM7', { body: 'Café' }],
    [
      'an hour that the zone has twice',
      { scheduleAt: new Date('2026-10-25T00:30:00Z'), scheduleZone: 'Europe/Berlin' },
    ],
    ['a schedule in no zone', { scheduleAt: new Date('2026-10-25T00:30:00Z'), scheduleZone: 'Mars/Olympus' }],
    ['a schedule at no time', { scheduleAt: new Date(Number.NaN) }],
  ] as const)('is not built for %s: refused by us, nothing sent', async (_, changes) => {
    const server = await startDefaultProvider();
    const outcome = await adapterFor(server.url).submit(requestTo(['919999999999'], changes), fullBudget());
    expect(outcome).toMatchObject({
      kind: 'refused',
      scope: 'permanent',
      retryAfterMs: null,
      reply: { httpStatus: null, raw: null, statusCode: null, reason: expect.any(String) },
    });
    expect(server.requests).toHaveLength(0);
  });
});
