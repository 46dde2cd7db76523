import { describe, expect, it } from 'vitest';
import type { SmsGatewayCenterOptions } from '../src/index.ts';
import { startProvider } from './support/provider-server.ts';
import { refusal, success } from './support/replies.ts';
import { adapterFor, BODY, fullBudget, PASSWORD, requestTo, TXN, USERID } from './support/sending.ts';

const OURS = ['919999999991', '919999999992', '919999999993'];

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

  it.each(['NULL', null, 0])('with the id %j is accepted without one', async (transactionId) => {
    expect(await outcomeOf(200, success({ transactionId }))).toMatchObject({ kind: 'accepted', providerTxnId: null });
  });

  it('does not mind extra fields, capitals, blanks, a BOM', async () => {
    const body = `\uFEFF ${success({ status: ' Success ', msgId: '', requestTime: '2026-07-17 00:20:09' })}\n`;
    expect(await outcomeOf(200, body)).toMatchObject({ kind: 'accepted' });
  });
});

describe('a refusal', () => {
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

  it.each([301, 302, 303, 307, 308])('is not looked for elsewhere after a redirect %s', async (status) => {
    const elsewhere = await startProvider((_, response) => response.end(success()));
    await outcomeOf(status, '', { location: `${elsewhere.url}/SMSApi/send` });
    expect(elsewhere.requests).toHaveLength(0);
  });
});

describe('a transaction that an unclear reply names', () => {
  it.each([
    ['quoted', refusal('216', { transactionId: TXN }), TXN],
    ['not quoted', refusal('216', { transactionId: TXN }).replace(`"${TXN}"`, TXN), TXN],
    ['at both levels alike', success({ response: { status: 'error', uuId: TXN } }), TXN],
    ['two of them', success({ response: { status: 'error', uuId: '77' } }), null],
    ['a sentinel', refusal('991', { transactionId: '0' }), null],
    ['a text', refusal('216', { transactionId: BODY }), null],
    ['a word of the text', refusal('216', { transactionId: '4471' }), null],
    ['an object', refusal('216', { transactionId: { id: TXN } }), null],
    ["somebody else's", success({ mobile: '918888888888' }), null],
  ])('is kept to ask by if it can be one: %s', async (_, body, providerTxnId) => {
    expect(await outcomeOf(200, body)).toMatchObject({ kind: 'ambiguous', providerTxnId });
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
    const outcome = await outcomeOf(200, refusal('171', { reason: `bad text: ${BODY}` }));
    expect(outcome.reply.reason).toBe('bad text: [redacted]');
  });
});
