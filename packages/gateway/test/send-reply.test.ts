import { describe, expect, it } from 'vitest';
import type { SmsGatewayCenterOptions } from '../src/index.ts';
import { startProvider } from './support/provider-server.ts';
import { adapterFor, BODY, fullBudget, PASSWORD, requestTo, TXN, USERID } from './support/sending.ts';

const OURS = ['919999999991', '919999999992', '919999999993'];

function success(changes: Record<string, unknown> = {}): string {
  const fields = { status: 'success', mobile: '', invalidMobile: '', transactionId: TXN, statusCode: '200' };
  return JSON.stringify({ ...fields, reason: 'success', ...changes });
}

function refusal(statusCode: unknown, reason = 'words'): string {
  return JSON.stringify({ status: 'error', statusCode, reason });
}

/** Sends to OURS at a provider that answers with exactly this. */
async function outcomeOf(
  status: number,
  body: string,
  headers: Record<string, string> = {},
  options: Partial<SmsGatewayCenterOptions> = {},
) {
  const server = await startProvider((_, response) => {
    response.writeHead(status, headers);
    response.end(body);
  });
  const outcome = await adapterFor(server.url, {}, {}, options).submit(requestTo(OURS), fullBudget());
  expect(server.requests).toHaveLength(1);
  return outcome;
}

describe('a success', () => {
  it('is accepted with its transaction id', async () => {
    const outcome = await outcomeOf(200, success(), { 'content-type': 'text/html' });
    expect(outcome).toMatchObject({
      kind: 'accepted',
      providerTxnId: TXN,
      rejected: [],
      unaccounted: [],
      strangers: [],
    });
    expect(outcome.reply).toMatchObject({ httpStatus: 200, statusCode: '200', reason: 'success' });
  });

  it('keeps an id that is not quoted, and its leading zeros', async () => {
    const unquoted = success().replace(`"${TXN}"`, TXN).replace('"200"', '200');
    expect(await outcomeOf(200, unquoted)).toMatchObject({ kind: 'accepted', providerTxnId: TXN });
    const zeros = success({ transactionId: '0012345678901234567' });
    expect(await outcomeOf(200, zeros)).toMatchObject({ providerTxnId: '0012345678901234567' });
  });

  it.each(['0', '', 'null', 'NULL', '-', null, 0])('with the id %j is accepted without one', async (transactionId) => {
    expect(await outcomeOf(200, success({ transactionId }))).toMatchObject({ kind: 'accepted', providerTxnId: null });
  });

  it('does not mind extra fields, capitals, blanks, a BOM', async () => {
    const body = `\uFEFF ${success({ status: ' Success ', msgId: '', requestTime: '2026-07-17 00:20:09' })}\n`;
    expect(await outcomeOf(200, body)).toMatchObject({ kind: 'accepted' });
  });
});

describe('nobody can tell', () => {
  it.each([
    ['HTML under 200', 200, '<html><body>502 Bad Gateway</body></html>'],
    ['plain text', 200, `success | 919999999999 | ${TXN} | 200 | success`],
    ['nothing', 200, ''],
    ['JSON that is cut off', 200, success().slice(0, -10)],
    ['JSON of another form', 200, '{"ok":true}'],
    ['a list', 200, `[${success()}]`],
    ['a success with another code', 200, success({ statusCode: '201' })],
    ['a success without a code', 200, success({ statusCode: undefined })],
    ['a success without a transaction id', 200, success({ transactionId: undefined })],
    ['a success of a read', 200, '{"response":{"status":"success","code":"200","msg":"success"}}'],
    ['a success of both forms at once', 200, success({ response: { status: 'success', code: '200' } })],
    ['two levels that disagree', 200, success({ response: { status: 'error', code: '216' } })],
    ['two codes', 200, JSON.stringify({ status: 'error', statusCode: '216', code: '171' })],
    ['an unknown status word', 200, success({ status: 'queued' })],
    ['a success for other numbers', 200, success({ mobile: '918888888888,918888888887' })],
    ['an error without a code', 200, '{"status":"error","message":"Too many requests"}'],
    ['an error with the code of success', 200, refusal('200')],
    ['a success under 400', 400, success()],
    ['a success under 429', 429, success()],
    ['429 without a body of the provider', 429, '<h1>Too Many Requests</h1>'],
    ['429 of some other gateway', 429, '{"status":"error","message":"slow down"}'],
    ['401 of a proxy', 401, '<h1>Unauthorized</h1>'],
    ['403 of a proxy', 403, ''],
    ['404 of a proxy', 404, 'not found'],
    ['408', 408, refusal('216')],
    ['500 with a refusal', 500, refusal('216')],
    ['500 with a success', 500, success()],
    ['502', 502, '<h1>Bad Gateway</h1>'],
    ['503', 503, 'down'],
    ['504', 504, ''],
    ['303, by which a server names the result of what it has processed', 303, ''],
  ])('after %s', async (_, status, body) => {
    const outcome = await outcomeOf(status, body, { 'retry-after': '3', location: '/elsewhere' });
    expect(outcome).toMatchObject({ kind: 'ambiguous', unmappedCode: null, reply: { httpStatus: status } });
  });

  it.each([200, 400, 422])('after a code that nobody has mapped, and it says which (HTTP %s)', async (status) => {
    expect(await outcomeOf(status, refusal(991))).toMatchObject({ kind: 'ambiguous', unmappedCode: '991' });
  });
});

describe('a refusal', () => {
  it.each([
    ['wrong credentials', '216', 'account'],
    ['a bad boolean', '147', 'permanent'],
    ['text and type that do not fit', '171', 'permanent'],
    ['no user id', '213', 'permanent'],
    ['a code as a number', 216, 'account'],
  ] as const)('for %s', async (_, code, scope) => {
    const outcome = await outcomeOf(200, refusal(code));
    expect(outcome).toMatchObject({ kind: 'refused', scope, reply: { statusCode: String(code), reason: 'words' } });
  });

  it('is found in the nested form too', async () => {
    const body = '{"response":{"status":" ERROR ","code":216,"msg":"Invalid credentials"}}';
    expect(await outcomeOf(200, body)).toMatchObject({
      kind: 'refused',
      scope: 'account',
      reply: { statusCode: '216', reason: 'Invalid credentials' },
    });
  });

  it.each([401, 403])('under HTTP %s reaches the whole account', async (status) => {
    expect(await outcomeOf(status, refusal('990'))).toMatchObject({ kind: 'refused', scope: 'account' });
  });

  it.each([
    ['5', 5_000],
    ['soon', null],
    [undefined, null],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['999999999', 86_400_000],
    ['Wed, 21 Oct 2065 07:28:07 GMT', 7_000],
  ])('under HTTP 429 is throttling, Retry-After %s', async (header, retryAfterMs) => {
    const date = 'Wed, 21 Oct 2065 07:28:00 GMT';
    const headers = header === undefined ? {} : { 'retry-after': header, date };
    expect(await outcomeOf(429, refusal('990'), headers)).toMatchObject({
      kind: 'refused',
      scope: 'throttled',
      retryAfterMs,
    });
  });

  it('takes codes that people have mapped since', async () => {
    const outcome = await outcomeOf(200, refusal('991'), {}, { extraCodes: { '991': 'temporary' } });
    expect(outcome).toMatchObject({ kind: 'refused', scope: 'temporary' });
  });

  it.each([
    [301, 'ambiguous'],
    [302, 'ambiguous'],
    [303, 'ambiguous'],
    [307, 'refused'],
    [308, 'refused'],
  ])('is a redirect %s: not followed, not posted again, and %s', async (status, kind) => {
    // 301 to 303 are how an application answers a form that it has processed.
    const elsewhere = await startProvider((_, response) => response.end(success()));
    const outcome = await outcomeOf(status, '', { location: `${elsewhere.url}/SMSApi/send` });
    expect(outcome).toMatchObject({ kind, reply: { httpStatus: status } });
    expect(elsewhere.requests).toHaveLength(0);
  });

  it('that names a transaction contradicts itself, and is ambiguous', async () => {
    const reply = { ...(JSON.parse(refusal('216')) as object), transactionId: '6305583318236810379' };
    expect(await outcomeOf(200, JSON.stringify(reply))).toMatchObject({ kind: 'ambiguous' });
  });
});

describe('what is kept of a reply', () => {
  it('holds no text, no code and no credential, however the reply echoes them', async () => {
    const page = `<pre>msg=${encodeURIComponent(BODY)} userid=${USERID} got ${PASSWORD} for
      ${BODY.replace('&', '&amp;')} ${JSON.stringify({ text: 'anything', nested: { sms: [BODY, BODY] } })} code 4471</pre>`;
    const outcome = await outcomeOf(502, page);
    const raw = Buffer.from(outcome.reply.raw ?? []).toString();
    for (const secret of [BODY, 'is ready', 'counter', '4471', PASSWORD, USERID, 'anything'])
      expect(raw).not.toContain(secret);
    expect(raw).toContain('<pre>');
  });

  it('is bounded', async () => {
    const outcome = await outcomeOf(502, 'é'.repeat(50_000));
    expect(outcome.reply.raw).toHaveLength(16 * 1024);
  });

  it('has a reason without the text that it quotes', async () => {
    const outcome = await outcomeOf(200, refusal('171', `bad text: ${BODY}`));
    expect(outcome.reply.reason).toBe('bad text: [redacted]');
  });
});
