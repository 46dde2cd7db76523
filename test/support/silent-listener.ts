import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

const fixture = (name: string) =>
  readFileSync(new URL(`../../packages/gateway/test/fixtures/${name}`, import.meta.url), 'utf8');

/** A provider that counts every byte of HTTP that reaches it, and answers nothing. */
export interface SilentListener {
  readonly url: string;
  /** Connections that were opened so far. */
  readonly connections: number;
  /** Bytes of the application: after decryption where there is TLS. */
  readonly bytes: number;
  /** Ends the hold on TLS handshakes. */
  answerHandshakes(): void;
  /** Resolves when a connection is open (and its handshake held, for https). */
  readonly connected: Promise<void>;
  close(): Promise<void>;
}

/** For https, the handshake of each connection is answered only when told. */
export async function startSilentListener(protocol: 'http' | 'https'): Promise<SilentListener> {
  let bytes = 0;
  let connections = 0;
  let answer = () => undefined as undefined;
  const told = new Promise<void>((resolve) => {
    answer = () => {
      resolve();
    };
  });
  let connectedNow = () => undefined as undefined;
  const connected = new Promise<void>((resolve) => {
    connectedNow = () => {
      resolve();
    };
  });
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: protocol === 'https' }, (socket) => {
    sockets.add(socket);
    connections++;
    connectedNow();
    socket.on('error', () => undefined);
    if (protocol === 'http') {
      socket.on('data', (chunk) => {
        bytes += chunk.length;
      });
      return;
    }
    void told.then(() => {
      const secure = new TLSSocket(socket, {
        isServer: true,
        key: fixture('test-only-key.pem'),
        cert: fixture('test-only-cert.pem'),
      });
      secure.on('data', (chunk) => {
        bytes += chunk.length;
      });
      secure.on('error', () => undefined);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connected,
    get bytes() {
      return bytes;
    },
    get connections() {
      return connections;
    },
    answerHandshakes: () => answer(),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
