import { describe, expect, it } from 'vitest';
import { DEFAULT_TIMEOUTS } from '../src/index.ts';
import { atLastMoment } from './support/keep-alive.ts';
import { hasWholeRequest, startProvider, startRawServer, TEST_ONLY_CERT } from './support/provider-server.ts';
import { adapterFor, BODY, fullBudget, PASSWORD, requestTo } from './support/sending.ts';

const REQUEST = requestTo(['919999999999']);

describe('nobody can tell, and the answer stays bounded and hidden,', () => {
  it('when the reply is cut off, and what was read of it is kept without text and credentials', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n';
    const half = `{"status":"success","msg":"${BODY}","password":"${PASSWORD}","transactionId":"63055`;
    const server = await startRawServer({ onData: (s, seen) => hasWholeRequest(seen) && s.end(head + half) });
    const outcome = await adapterFor(server.url).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'ambiguous', reply: { httpStatus: 200 } });
    const raw = Buffer.from(outcome.reply.raw ?? []).toString();
    expect(raw).toContain('"transactionId":"63055');
    expect(raw).not.toContain('order');
    expect(raw).not.toContain(PASSWORD);
  });

  it('when the reply is longer than its limit', async () => {
    const server = await startProvider((_, response) => response.end('x'.repeat(100_000)));
    const outcome = await adapterFor(server.url, {}, { maxBodyBytes: 10_000 }).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'ambiguous', reply: { httpStatus: 200 } });
    expect(outcome.kind === 'ambiguous' && outcome.detail).toContain('REPLY_TOO_LARGE');
  });

  it('when the transport itself breaks its promise not to throw', async () => {
    const transport = {
      post: () => Promise.reject(new Error(PASSWORD)),
      download: () => Promise.reject(new Error('not here')),
      close: () => {},
    };
    const adapter = adapterFor('http://127.0.0.1:1', {}, {}, { transport });
    const outcome = await adapter.submit(REQUEST, fullBudget());
    expect(outcome.kind).toBe('ambiguous');
    expect(JSON.stringify(outcome)).not.toContain(PASSWORD);
  });
});

describe('a budget that cannot be judged', () => {
  it('is taken for spent, and no byte leaves', async () => {
    const server = await startRawServer();
    const budget = atLastMoment(() => {
      throw new Error('no clock');
    });
    const outcome = await adapterFor(server.url).submit(REQUEST, budget);
    expect(outcome).toMatchObject({ kind: 'not_sent', proof: 'send_budget' });
    await server.closed(1);
    expect(server.bytes()).toBe(0);
  });
});

describe('over TLS', () => {
  it('a trusted server gets the whole request', async () => {
    const server = await startProvider((_, response) => {
      response.end('{"status":"success","mobile":"","invalidMobile":"","transactionId":"0","statusCode":"200"}');
    }, true);
    const adapter = adapterFor(server.url, {}, { ca: TEST_ONLY_CERT });
    expect(await adapter.submit(REQUEST, fullBudget())).toMatchObject({ kind: 'accepted', providerTxnId: null });
  });
});

describe('the shipped time-outs', () => {
  it('keep lookup, connect and TLS together below the send budget, and wait as long as the vendor does', () => {
    const { lookup, connect, secureConnect, response, request } = DEFAULT_TIMEOUTS;
    expect(lookup + connect + secureConnect).toBeLessThan(5_000);
    expect(response).toBeGreaterThanOrEqual(45_000);
    expect(request).toBeGreaterThan(response);
  });
});
