import http from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { at } from '@sendledger/core/points';
import type { RequestFunction } from 'got';
import type { SendBudget } from './send-budget.ts';
import type { Phase } from './transport.ts';

/** Our own reason to destroy a request; as nothing else destroys with it, it is a proof. */
class SendBudgetSpent extends Error {
  readonly code = 'SEND_BUDGET_SPENT';
  override readonly name = 'SendBudgetSpent';
}

/** What the request has reached so far, written by the socket's own events. */
export interface Progress {
  phase: Phase;
  budgetSpent: boolean;
  clientRequest: http.ClientRequest | null;
  /** Told of a reply that switches protocols: it ends the HTTP exchange without an error, a reply or a time-out. */
  onUpgrade: (response: http.IncomingMessage) => void;
}

export function noProgress(): Progress {
  return { phase: 'start', budgetSpent: false, clientRequest: null, onUpgrade: () => {} };
}

/**
 * The `request` option of got: creates the ClientRequest and, in the same tick, hangs the watch on its `socket` event.
 * That event precedes the flush of the request, for a reused socket too (whose `connect` never fires again), which
 * makes it the one place from which no byte leaks. The request is destroyed and not the socket: a destroyed socket
 * looks like a reset by the peer, which proves nothing.
 */
export function watchedRequest(progress: Progress, budget: SendBudget | null): RequestFunction {
  return (url, options) => {
    const secure = url.protocol === 'https:';
    const clientRequest = secure ? https.request(url, options) : http.request(url, options);
    progress.clientRequest = clientRequest;
    if (budget !== null) clientRequest.once('finish', () => at('request: after its last byte'));
    clientRequest.once('upgrade', (response, socket) => {
      socket.destroy();
      progress.onUpgrade(response);
    });
    clientRequest.once('socket', (socket) => {
      const check = (): void => {
        if (budget !== null) at('request: before the check of its budget');
        if (budget !== null && !holds(budget)) {
          progress.budgetSpent = true;
          clientRequest.destroy(new SendBudgetSpent('The mark is older than the send budget.'));
        } else {
          progress.phase = 'open';
          if (budget !== null) at('request: before its first byte');
        }
      };
      if (isReady(socket)) {
        check();
        return;
      }
      watchConnecting(socket, url, progress);
      // Prepended: our check comes before the listeners that flush the request.
      socket.prependOnceListener(secure ? 'secureConnect' : 'connect', check);
    });
    return clientRequest;
  };
}

/** An error in here would end the process and leave the request waiting; one that cannot be judged is taken for spent. */
function holds(budget: SendBudget): boolean {
  try {
    return budget.holds();
  } catch {
    return false;
  }
}

function isReady(socket: Socket): boolean {
  if (socket.connecting) return false;
  // `secureConnecting` is true from construction until the handshake has ended; the published types lack it.
  return !(socket instanceof TLSSocket && 'secureConnecting' in socket && socket.secureConnecting === true);
}

function watchConnecting(socket: Socket, url: URL, progress: Progress): void {
  progress.phase = isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0 ? 'lookup' : 'connect';
  socket.once('lookup', (error) => {
    // Node passes null on success, whatever the types say.
    if (!(error instanceof Error) && progress.phase === 'lookup') progress.phase = 'connect';
  });
  if (url.protocol === 'https:') {
    socket.prependOnceListener('connect', () => {
      progress.phase = 'tls';
    });
  }
}
