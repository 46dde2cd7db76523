import { describe, expect, it } from 'vitest';
import { DEFAULT_TIMEOUTS } from '../src/index.ts';
import {
  closedPort,
  hasWholeRequest,
  startProvider,
  startRawServer,
  TEST_ONLY_CERT,
} from './support/provider-server.ts';
import { adapterFor, BODY, fullBudget, PASSWORD, requestTo } from './support/sending.ts';

const REQUEST = requestTo(['919999999999']);

describe('nothing was sent', () => {
  it('when the name does not resolve', async () => {
    const outcome = await adapterFor('http://provider.invalid').submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'not_sent', proof: 'no_name' });
  });

  it('when the connection is refused', async () => {
    const outcome = await adapterFor(`http://127.0.0.1:${await closedPort()}`).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'not_sent', proof: 'no_connection', detail: 'phase connect, ECONNREFUSED' });
  });

  it('when the name resolves and each of its addresses refuses', async () => {
    const outcome = await adapterFor(`http://localhost:${await closedPort()}`).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'not_sent', proof: 'no_connection', detail: 'phase connect, ECONNREFUSED' });
  });

  it('when the connection is reset on accept, if it never became one', async () => {
    const server = await startRawServer({ onConnection: (socket) => socket.resetAndDestroy() });
    const outcome = await adapterFor(server.url).submit(REQUEST, fullBudget());
    await server.closed(1);
    // The reset may reach us before or after our side counts as connected: only before is it a proof.
    if (outcome.kind === 'not_sent') expect(outcome.proof).toBe('no_connection');
    else expect(outcome.kind).toBe('ambiguous');
    expect(server.bytes()).toBe(0);
  });

  it('when the request was aborted before it had a socket', async () => {
    const server = await startRawServer();
    const outcome = await adapterFor(server.url).submit(REQUEST, fullBudget(), AbortSignal.abort());
    expect(outcome).toMatchObject({ kind: 'not_sent', proof: 'no_connection' });
    expect(server.bytes()).toBe(0);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('when the certificate is not trusted (%s)', async (version) => {
    const server = await startRawServer({ secure: true, version });
    const outcome = await adapterFor(server.url).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({
      kind: 'not_sent',
      proof: 'no_tls',
      detail: 'phase tls, DEPTH_ZERO_SELF_SIGNED_CERT',
    });
    await server.closed(1);
    expect(server.bytes()).toBe(0);
  });

  it('when the other side does not speak TLS', async () => {
    const server = await startRawServer({ onData: (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n') });
    const outcome = await adapterFor(server.url.replace('http:', 'https:')).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'not_sent', proof: 'no_tls' });
  });

  it('when the connection is reset inside the handshake', async () => {
    const server = await startRawServer({ onData: (socket) => socket.resetAndDestroy() });
    const outcome = await adapterFor(server.url.replace('http:', 'https:')).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'not_sent', proof: 'no_tls' });
  });

  it('when the handshake hangs', async () => {
    const server = await startRawServer();
    const adapter = adapterFor(server.url.replace('http:', 'https:'), { secureConnect: 30 });
    const outcome = await adapter.submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'not_sent', proof: 'no_tls' });
    expect(outcome).toMatchObject({ detail: 'phase tls, ETIMEDOUT, time-out secureConnect' });
  });

  it('when the request is aborted inside the handshake', async () => {
    const stop = new AbortController();
    const server = await startRawServer({ onData: () => stop.abort() });
    const adapter = adapterFor(server.url.replace('http:', 'https:'));
    expect(await adapter.submit(REQUEST, fullBudget(), stop.signal)).toMatchObject({ proof: 'no_tls' });
  });
});

describe('nobody can tell', () => {
  it('when the provider took the request and hangs until we stop', async () => {
    const stop = new AbortController();
    const server = await startProvider(() => stop.abort());
    const outcome = await adapterFor(server.url).submit(REQUEST, fullBudget(), stop.signal);
    expect(outcome).toMatchObject({ kind: 'ambiguous', unmappedCode: null });
    expect(server.requests).toHaveLength(1);
  });

  it.each(['response', 'request'] as const)('when the %s time-out ends a request that was written', async (event) => {
    const server = await startProvider(() => {});
    const outcome = await adapterFor(server.url, { [event]: 1_000 }).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'ambiguous', detail: `phase open, ETIMEDOUT, time-out ${event}` });
    expect(server.requests).toHaveLength(1);
  });

  it('when the connection is reset after the request', async () => {
    const server = await startRawServer({ onData: (s, seen) => hasWholeRequest(seen) && s.resetAndDestroy() });
    const outcome = await adapterFor(server.url).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'ambiguous', detail: 'phase open, ECONNRESET' });
  });

  it('when the connection is closed after the request without a word', async () => {
    const server = await startRawServer({ onData: (socket, seen) => hasWholeRequest(seen) && socket.end() });
    expect((await adapterFor(server.url).submit(REQUEST, fullBudget())).kind).toBe('ambiguous');
  });

  it('when the answer is not HTTP', async () => {
    const server = await startRawServer({
      onData: (socket, seen) => hasWholeRequest(seen) && socket.end('ok\r\n\r\n'),
    });
    const outcome = await adapterFor(server.url).submit(REQUEST, fullBudget());
    expect(outcome.kind).toBe('ambiguous');
  });

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

  it('when the reply hangs in its middle', async () => {
    const server = await startProvider((_, response) => {
      response.writeHead(200);
      response.write('{"status":"succ');
    });
    const outcome = await adapterFor(server.url, { request: 1_000 }).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'ambiguous', reply: { httpStatus: 200 } });
  });

  it('when the reply is longer than its limit', async () => {
    const server = await startProvider((_, response) => response.end('x'.repeat(100_000)));
    const outcome = await adapterFor(server.url, {}, { maxBodyBytes: 10_000 }).submit(REQUEST, fullBudget());
    expect(outcome).toMatchObject({ kind: 'ambiguous', reply: { httpStatus: 200 } });
    expect(outcome.kind === 'ambiguous' && outcome.detail).toContain('REPLY_TOO_LARGE');
  });

  it('when the transport itself breaks its promise not to throw', async () => {
    const transport = { post: () => Promise.reject(new Error(PASSWORD)), close: () => {} };
    const adapter = adapterFor('http://127.0.0.1:1', {}, {}, { transport });
    const outcome = await adapter.submit(REQUEST, fullBudget());
    expect(outcome.kind).toBe('ambiguous');
    expect(JSON.stringify(outcome)).not.toContain(PASSWORD);
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
