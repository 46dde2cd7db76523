import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { at } from '@sendledger/core/points';
import got, { type Got, type RequestFunction, TimeoutError } from 'got';
import type { SendBudget } from './send-budget.ts';
import type {
  Phase,
  ReplyHeaders,
  Transport,
  TransportFailure,
  TransportReply,
  TransportRequest,
} from './transport.ts';

/** Milliseconds. */
export interface TransportTimeouts {
  readonly lookup: number;
  readonly connect: number;
  readonly secureConnect: number;
  /** From the end of the upload to the response headers. */
  readonly response: number;
  /** The whole request, hard. */
  readonly request: number;
}

/**
 * The first three together stay below the send budget. A send waits at least 45 s for its answer, as long as the
 * vendor's own client does: a shorter wait only manufactures unknowns. No time-out for the upload: the total covers it.
 */
export const DEFAULT_TIMEOUTS: TransportTimeouts = {
  lookup: 1_500,
  connect: 1_500,
  secureConnect: 1_500,
  response: 45_000,
  request: 50_000,
};

/** Time-outs that end a request by `deadlineMs` and have it connected well within the send budget. */
export function timeoutsWithin(deadlineMs: number, sendBudgetMs: number): TransportTimeouts {
  const each = Math.max(1, Math.floor(sendBudgetMs * 0.3));
  return {
    lookup: each,
    connect: each,
    secureConnect: each,
    response: Math.max(1, Math.floor(deadlineMs * 0.9)),
    request: deadlineMs,
  };
}

export interface GotTransportOptions {
  readonly timeouts?: TransportTimeouts;
  /** Off for sends: a stale socket turns a request that nobody read into an unknown. Reads may keep it on. */
  readonly keepAlive?: boolean;
  /** A longer reply is cut off and counts as broken. Bytes after decompression. */
  readonly maxBodyBytes?: number;
  /** Certificate authorities to trust instead of the built-in ones, PEM. */
  readonly ca?: string;
  /** Another resolver of names than the system's. It must answer later than the call, or its phase is not seen. */
  readonly lookup?: LookupFunction;
}

const DEFAULT_MAX_BODY_BYTES = 1024 * 1024;

/** Our own reason to destroy a request; as nothing else destroys with it, it is a proof. */
class SendBudgetSpent extends Error {
  readonly code = 'SEND_BUDGET_SPENT';
  override readonly name = 'SendBudgetSpent';
}

class ReplyTooLarge extends Error {
  readonly code = 'REPLY_TOO_LARGE';
  override readonly name = 'ReplyTooLarge';
}

class UnexpectedUpgrade extends Error {
  readonly code = 'UNEXPECTED_UPGRADE';
  override readonly name = 'UnexpectedUpgrade';
}

/** A request that nothing has ended by then, the time-outs included, is given up this many ms after its total deadline. */
const GRACE_MS = 1_000;

/** What the request has reached so far, written by the socket's own events. */
interface Progress {
  phase: Phase;
  budgetSpent: boolean;
  clientRequest: http.ClientRequest | null;
  /** Told of a reply that switches protocols: it ends the HTTP exchange without an error, a reply or a time-out. */
  onUpgrade: (response: http.IncomingMessage) => void;
}

/** A transport over got. `close` destroys its agents. */
export function createGotTransport(options: GotTransportOptions = {}): Transport {
  const timeouts = options.timeouts ?? DEFAULT_TIMEOUTS;
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  const keepAlive = options.keepAlive ?? false;
  const agent = { http: new http.Agent({ keepAlive }), https: new https.Agent({ keepAlive }) };
  // Merged once: got checks each of its options for every request that names them.
  const client = got.extend({
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    http2: false,
    decompress: true,
    timeout: { ...timeouts },
    agent,
    ...(options.ca === undefined ? {} : { https: { certificateAuthority: options.ca } }),
    ...(options.lookup === undefined ? {} : { dnsLookup: options.lookup }),
  });
  return {
    post: (request) => post(request, { client, totalMs: timeouts.request, maxBodyBytes }),
    close: () => {
      agent.http.destroy();
      agent.https.destroy();
    },
  };
}

interface Setup {
  readonly client: Got;
  /** The hard deadline of a request, ms. */
  readonly totalMs: number;
  readonly maxBodyBytes: number;
}

function post(request: TransportRequest, setup: Setup): Promise<TransportReply | TransportFailure> {
  const progress: Progress = { phase: 'start', budgetSpent: false, clientRequest: null, onUpgrade: () => {} };
  const chunks: Buffer[] = [];
  let size = 0;
  let head: { readonly status: number; readonly headers: ReplyHeaders } | null = null;

  return new Promise((resolve) => {
    const settle = (result: TransportReply | TransportFailure): void => {
      clearTimeout(backstop);
      resolve(result);
    };
    const fail = (error: unknown): void => {
      settle({
        kind: 'failure',
        phase: progress.phase,
        secure: request.url.protocol === 'https:',
        ...errorFacts(error),
        reusedSocket: progress.clientRequest?.reusedSocket ?? false,
        budgetSpent: progress.budgetSpent,
        partial: head === null ? null : { ...head, body: Buffer.concat(chunks) },
      });
    };
    const seeHead = (response: http.IncomingMessage): void => {
      progress.phase = 'reply';
      if (request.budget !== null) at('reply: before it is read');
      head = { status: response.statusCode ?? 0, headers: replyHeaders(response.headers) };
    };
    /** Ends what is left of a request that has its answer, its timers included. */
    let abandon = (): void => {};
    progress.onUpgrade = (response) => {
      seeHead(response);
      fail(new UnexpectedUpgrade('The reply switches protocols.'));
      abandon();
    };
    // The promise is kept whatever happens: a send that never ended would hold its place for good.
    const backstop = setTimeout(() => {
      // Nobody thought of this, so however early it looks it is no proof.
      if (progress.phase !== 'reply') progress.phase = 'open';
      fail(null);
      abandon();
    }, setup.totalMs + GRACE_MS);
    try {
      const stream = setup.client.stream.post(request.url, {
        body: request.form.toString(),
        headers: { ...request.headers, 'content-type': 'application/x-www-form-urlencoded' },
        request: watchedRequest(progress, request.budget),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
      abandon = () => stream.destroy();
      stream.on('error', fail);
      stream.on('response', seeHead);
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > setup.maxBodyBytes) stream.destroy(new ReplyTooLarge('The reply is longer than its limit.'));
        else chunks.push(chunk);
      });
      stream.once('end', () => {
        if (request.budget !== null) at('reply: after it is read');
        if (head === null) fail(null);
        else settle({ kind: 'reply', ...head, body: Buffer.concat(chunks) });
      });
      // The last word if a stream closes without `end` and without `error`; the promise keeps its first answer.
      stream.once('close', () => fail(null));
    } catch (error) {
      fail(error);
    }
  });
}

/**
 * The `request` option of got: creates the ClientRequest and, in the same tick, hangs the watch on its `socket` event.
 * That event precedes the flush of the request, for a reused socket too (whose `connect` never fires again), which
 * makes it the one place from which no byte leaks. The request is destroyed and not the socket: a destroyed socket
 * looks like a reset by the peer, which proves nothing.
 */
function watchedRequest(progress: Progress, budget: SendBudget | null): RequestFunction {
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

function replyHeaders(headers: http.IncomingHttpHeaders): ReplyHeaders {
  return {
    'content-type': headers['content-type'] ?? null,
    'retry-after': headers['retry-after'] ?? null,
    date: headers.date ?? null,
  };
}

/** Code, syscall and time-out of an error and of its causes. Messages are left behind: they may quote the request. */
function errorFacts(error: unknown): Pick<TransportFailure, 'code' | 'syscall' | 'event'> {
  const facts = { code: null as string | null, syscall: null as string | null, event: null as string | null };
  let current: unknown = error;
  for (let depth = 0; depth < 4 && current instanceof Error; depth++) {
    facts.code ??= textProperty(current, 'code');
    facts.syscall ??= textProperty(current, 'syscall');
    if (current instanceof TimeoutError) facts.event ??= current.event;
    current = current.cause;
  }
  return facts;
}

function textProperty(error: Error, name: 'code' | 'syscall'): string | null {
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' ? value : null;
}
