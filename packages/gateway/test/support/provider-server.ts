import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import { onTestFinished } from 'vitest';

/** Self-signed for localhost and 127.0.0.1, made for these tests and trusted by nothing else. */
export const TEST_ONLY_CERT = readFileSync(new URL('../fixtures/test-only-cert.pem', import.meta.url), 'utf8');
const TEST_ONLY_KEY = readFileSync(new URL('../fixtures/test-only-key.pem', import.meta.url), 'utf8');

interface ReceivedRequest {
  readonly path: string;
  readonly method: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

export interface ProviderServer {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
}

export type Answer = (request: ReceivedRequest, response: http.ServerResponse) => void;

/** A provider on a socket. `answer` gets each request once it has been read whole. */
export async function startProvider(answer: Answer, secure = false): Promise<ProviderServer> {
  const requests: ReceivedRequest[] = [];
  const listener: http.RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received = {
        path: request.url ?? '',
        method: request.method ?? '',
        headers: request.headers,
        form: new URLSearchParams(Buffer.concat(chunks).toString('utf8')),
      };
      requests.push(received);
      answer(received, response);
    });
  };
  const server = secure
    ? https.createServer({ cert: TEST_ONLY_CERT, key: TEST_ONLY_KEY }, listener)
    : http.createServer(listener);
  const port = await listen(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `${secure ? 'https' : 'http'}://127.0.0.1:${port}`, requests };
}

export interface RawServer {
  readonly url: string;
  readonly port: number;
  /** Application bytes that have arrived: decrypted ones where the server speaks TLS. */
  bytes(): number;
  /** What each connection has brought so far, in the order in which they came. */
  transcripts(): readonly Buffer[];
  /** Settles when as many connections as given have been closed again. */
  closed(count: number): Promise<void>;
}

export interface RawOptions {
  readonly version?: tls.SecureVersion;
  onConnection?(socket: Socket): void;
  onData?(socket: Socket, seen: Buffer): void;
}

/** A server that counts bytes and does what it is told with its sockets. */
export async function startRawServer(options: RawOptions & { readonly secure?: boolean } = {}): Promise<RawServer> {
  const transcripts: Buffer[] = [];
  let closedCount = 0;
  const waiting: { readonly count: number; readonly done: () => void }[] = [];
  const sockets = new Set<Socket>();
  const onClosed = (): void => {
    closedCount += 1;
    for (const waiter of waiting) if (closedCount >= waiter.count) waiter.done();
  };
  const serve = (socket: Socket): void => {
    const own = transcripts.push(Buffer.alloc(0)) - 1;
    socket.on('data', (chunk: Buffer) => {
      const seen = Buffer.concat([transcripts[own] ?? Buffer.alloc(0), chunk]);
      transcripts[own] = seen;
      options.onData?.(socket, seen);
    });
    socket.on('error', () => {});
    options.onConnection?.(socket);
  };
  const version = options.version === undefined ? {} : { minVersion: options.version, maxVersion: options.version };
  const server = options.secure
    ? tls.createServer({ cert: TEST_ONLY_CERT, key: TEST_ONLY_KEY, ...version }, serve)
    : net.createServer(serve);
  server.on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', onClosed);
  });
  const port = await listen(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `${options.secure ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    bytes: () => transcripts.reduce((sum, seen) => sum + seen.length, 0),
    transcripts: () => transcripts,
    closed: (count) =>
      closedCount >= count ? Promise.resolve() : new Promise((done) => waiting.push({ count, done })),
  };
}

/** A gate before a TLS server: `onHello` runs when the ClientHello has arrived and before it is passed on. */
export async function startHandshakeGate(target: RawServer, onHello: () => void): Promise<{ readonly url: string }> {
  const gate = await startRawServer({
    onConnection: (client) => {
      client.removeAllListeners('data');
      const upstream = net.connect(target.port, '127.0.0.1');
      upstream.on('error', () => client.destroy());
      client.once('data', (hello: Buffer) => {
        onHello();
        upstream.write(hello);
        client.pipe(upstream);
      });
      upstream.pipe(client);
    },
  });
  return { url: `https://127.0.0.1:${gate.port}` };
}

/** A port on which nobody listens. */
export async function closedPort(): Promise<number> {
  const server = net.createServer();
  const port = await listen(server);
  await new Promise((done) => server.close(done));
  return port;
}

export function hasWholeRequest(seen: Buffer): boolean {
  const text = seen.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return length !== undefined && text.length >= end + 4 + Number(length);
}

async function listen(server: net.Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}
