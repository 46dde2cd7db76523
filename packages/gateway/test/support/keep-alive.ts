import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { expect } from 'vitest';
import type { Adapter, SendBudget } from '../../src/index.ts';
import { hasWholeRequest, type RawServer, startRawServer, TEST_ONLY_CERT } from './provider-server.ts';
import { refusal } from './replies.ts';
import { REQUEST, type Scene } from './scene.ts';
import { adapterFor, fullBudget } from './sending.ts';

const BODY = refusal('216');
const REPLY = `HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

export interface KeptConnection {
  readonly adapter: Adapter;
  readonly server: RawServer;
  /** The server's end of it. */
  readonly socket: Socket;
}

/**
 * A connection over which one request was refused, and which both sides have kept. `onNext` gets all that came over it with
 * each piece of the next request.
 */
export async function keptConnection(
  secure: boolean,
  onNext: (socket: Socket, next: Buffer) => void = () => {},
): Promise<KeptConnection> {
  let answered = 0;
  let kept: Socket | undefined;
  const server = await startRawServer({
    secure,
    onData: (socket, seen) => {
      if (answered > 0 && socket === kept) onNext(socket, seen.subarray(answered));
      else if (hasWholeRequest(seen)) {
        kept = socket;
        answered = seen.length;
        socket.write(REPLY);
      }
    },
  });
  const adapter = adapterFor(server.url, {}, { keepAlive: true, ...(secure ? { ca: TEST_ONLY_CERT } : {}) });
  expect(await adapter.submit(REQUEST, fullBudget())).toMatchObject({ kind: 'refused' });
  if (kept === undefined) throw new Error('no request arrived');
  return { adapter, server, socket: kept };
}

/** Ends a connection as hard as its kind allows: a TLS session cannot be reset through its socket. */
export function cut(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** The next send over a kept connection. */
export function overKept({ adapter, server }: KeptConnection, budget: SendBudget): Scene {
  const before = server.bytes();
  return {
    send: () => adapter.submit(REQUEST, budget),
    settled: () => server.closed(1),
    requestBytes: () => server.bytes() - before,
  };
}

/**
 * A budget that runs `act` in the last moment before the first byte: it is asked once before the request is made, and then on
 * the connection that is about to carry it.
 */
export function atLastMoment(act: () => void, budget: SendBudget = fullBudget()): SendBudget {
  let asked = 0;
  return {
    holds: () => {
      asked += 1;
      if (asked === 2) act();
      return budget.holds();
    },
    get remainingMs() {
      return budget.remainingMs;
    },
  };
}
