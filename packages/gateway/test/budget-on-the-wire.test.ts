import { describe, expect, it } from 'vitest';
import { hasWholeRequest, startHandshakeGate, startRawServer, TEST_ONLY_CERT } from './support/provider-server.ts';
import { adapterFor, fullBudget, handClocks, requestTo } from './support/sending.ts';

const RECIPIENT = ['919999999999'];
const SPENT = { kind: 'not_sent', proof: 'send_budget' } as const;

/** A process that is stopped between the mark and the first byte sees its clocks jump. */
describe('a request whose mark has grown old', () => {
  it('leaves no byte on a fresh connection', async () => {
    const server = await startRawServer();
    const clocks = handClocks();
    const answer = adapterFor(server.url).submit(requestTo(RECIPIENT), fullBudget(clocks));
    clocks.advance(5_000);
    expect(await answer).toMatchObject({ ...SPENT, detail: 'phase connect, SEND_BUDGET_SPENT' });
    await server.closed(1);
    expect(server.bytes()).toBe(0);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('leaves no byte when it grew old inside a %s handshake', async (version) => {
    const server = await startRawServer({ secure: true, version });
    const clocks = handClocks();
    const gate = await startHandshakeGate(server, () => clocks.advance(5_000));
    const adapter = adapterFor(gate.url, {}, { ca: TEST_ONLY_CERT });
    const outcome = await adapter.submit(requestTo(RECIPIENT), fullBudget(clocks));
    expect(outcome).toMatchObject({ ...SPENT, detail: 'phase tls, SEND_BUDGET_SPENT' });
    await server.closed(1);
    expect(server.bytes()).toBe(0);
  });

  it.each([false, true])('leaves no byte on a reused connection (https: %s)', async (secure) => {
    const body = '{"status":"error","statusCode":"216","reason":"Invalid credentials"}';
    const server = await startRawServer({
      secure,
      onData: (socket, seen) => {
        if (hasWholeRequest(seen)) socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      },
    });
    const adapter = adapterFor(server.url, {}, { keepAlive: true, ...(secure ? { ca: TEST_ONLY_CERT } : {}) });
    expect(await adapter.submit(requestTo(RECIPIENT), fullBudget())).toMatchObject({ kind: 'refused' });
    const before = server.bytes();
    expect(before).toBeGreaterThan(0);

    const clocks = handClocks();
    const second = adapter.submit(requestTo(RECIPIENT), fullBudget(clocks));
    clocks.advance(5_000);
    // The phase says that no new connection was begun: it was the kept one.
    expect(await second).toMatchObject({ ...SPENT, detail: 'phase start, SEND_BUDGET_SPENT' });
    await server.closed(1);
    expect(server.bytes()).toBe(before);
  });

  it('does not even connect when it was old before', async () => {
    const clocks = handClocks();
    const budget = fullBudget(clocks);
    clocks.advance(5_000);
    const server = await startRawServer();
    expect(await adapterFor(server.url).submit(requestTo(RECIPIENT), budget)).toMatchObject(SPENT);
    expect(server.bytes()).toBe(0);
  });
});
