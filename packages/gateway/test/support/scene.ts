import type { GotTransportOptions, Outcome, SendBudget, TransportTimeouts } from '../../src/index.ts';
import { type RawServer, startProvider } from './provider-server.ts';
import { adapterFor, fullBudget, requestTo } from './sending.ts';
import { applicationDataBytes } from './tls-records.ts';

/** One send against one other side, and what that side saw of it. */
export interface Scene {
  send(): Promise<Outcome>;
  /** Settles when the other side has seen all of the send that it will ever see. */
  settled(): Promise<void>;
  /** Bytes of the request, without those of a handshake, that the other side has read. */
  requestBytes(): number;
  /** Whole requests that were read, where the other side counts them. */
  requests?(): number;
}

export interface Circumstances {
  readonly timeouts?: Partial<TransportTimeouts>;
  readonly transport?: GotTransportOptions;
  readonly budget?: SendBudget;
  readonly signal?: AbortSignal;
}

export const RECIPIENTS = ['919999999991', '919999999992', '919999999993'];
export const REQUEST = requestTo(RECIPIENTS);

function sendTo(url: string, circumstances: Circumstances): () => Promise<Outcome> {
  const { timeouts, transport, budget = fullBudget(), signal } = circumstances;
  return () => adapterFor(url, timeouts, transport).submit(REQUEST, budget, signal);
}

/** Nobody is there who could see anything. */
export function toNobody(url: string, circumstances: Circumstances = {}): Scene {
  return { send: sendTo(url, circumstances), settled: () => Promise.resolve(), requestBytes: () => 0 };
}

/** To a server on a socket, which sees each connection end. */
export function toServer(server: RawServer, circumstances: Circumstances = {}): Scene {
  return {
    send: sendTo(server.url, circumstances),
    settled: () => server.closed(1),
    requestBytes: () => server.bytes(),
  };
}

/** To a server that never gets a connection, so that there is none whose end could be waited for. */
export function unseenBy(server: RawServer, circumstances: Circumstances): Scene {
  return { ...toServer(server, circumstances), settled: () => Promise.resolve() };
}

/** By https to a server that does not speak it, so that it sees the handshake's own bytes. */
export function byTlsToServer(server: RawServer, circumstances: Circumstances = {}): Scene {
  return {
    send: sendTo(server.url.replace('http:', 'https:'), circumstances),
    settled: () => server.closed(1),
    requestBytes: () => server.transcripts().reduce((sum, seen) => sum + applicationDataBytes(seen), 0),
  };
}

/** To a provider that reads the request whole and gives exactly this reply. */
export async function answeredBy(
  status: number,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<Scene> {
  const server = await startProvider((_, response) => {
    response.writeHead(status, headers);
    response.end(body);
  });
  return {
    send: sendTo(server.url, {}),
    settled: () => Promise.resolve(),
    requestBytes: () => Number.POSITIVE_INFINITY,
    requests: () => server.requests.length,
  };
}
