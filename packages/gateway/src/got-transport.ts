import http from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { at } from '@sendledger/core/points';
import got, { type Got } from 'got';
import { download } from './got-download.ts';
import { errorFacts, ReplyTooLarge, replyHeaders } from './reply-facts.ts';
import type { ReplyHeaders, Transport, TransportFailure, TransportReply, TransportRequest } from './transport.ts';
import { noProgress, watchedRequest } from './watched-request.ts';

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

class UnexpectedUpgrade extends Error {
  readonly code = 'UNEXPECTED_UPGRADE';
  override readonly name = 'UnexpectedUpgrade';
}

/** A request that nothing has ended by then, the time-outs included, is given up this many ms after its total deadline. */
const GRACE_MS = 1_000;

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
    download: (request, file) => download(request, file, client, timeouts.request + GRACE_MS),
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
  const progress = noProgress();
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
