import type { FileHandle } from 'node:fs/promises';
import type { SendBudget } from './send-budget.ts';

/**
 * How far a request had come. `open` begins when the connection is ready for the request, so from then on bytes may
 * have left. Everything before `open` proves that none did.
 *
 * - `start`: no socket was assigned
 * - `lookup`: waiting for the name
 * - `connect`: address known, TCP not established
 * - `tls`: TCP established, handshake not finished (https only)
 * - `open`: the request may have been written, wholly or in part
 * - `reply`: response headers were read
 */
export type Phase = 'start' | 'lookup' | 'connect' | 'tls' | 'open' | 'reply';

export interface TransportRequest {
  readonly url: URL;
  /** Sent as `application/x-www-form-urlencoded`, encoded exactly once. */
  readonly form: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for reads, which cost nothing. */
  readonly budget: SendBudget | null;
  readonly signal?: AbortSignal;
}

/** The response headers that an adapter may look at, lower-case. */
export type ReplyHeaders = Readonly<Record<'content-type' | 'retry-after' | 'date', string | null>>;

export interface TransportReply {
  readonly kind: 'reply';
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** Complete and decompressed. Not redacted: it must not be logged or stored as it is. */
  readonly body: Buffer;
}

/** Facts about a request without a complete reply; `classifyFailure` judges them. */
export interface TransportFailure {
  readonly kind: 'failure';
  readonly phase: Phase;
  readonly secure: boolean;
  readonly code: string | null;
  readonly syscall: string | null;
  /** The time-out that ended it, where one did. */
  readonly event: string | null;
  readonly reusedSocket: boolean;
  /** The request was destroyed by our own send budget check. */
  readonly budgetSpent: boolean;
  /** What was read of a reply before it broke off. Not redacted. */
  readonly partial: { readonly status: number; readonly headers: ReplyHeaders; readonly body: Buffer } | null;
}

/** A free read whose answer may be too large for memory. */
export interface DownloadRequest {
  readonly url: URL;
  /** Null: a GET. */
  readonly form: URLSearchParams | null;
  readonly headers: Readonly<Record<string, string>>;
  /** An answer that is longer counts as broken (`REPLY_TOO_LARGE`). Bytes after decompression. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** An answer that is complete and lies in the file, from its beginning. Not redacted. */
export interface Downloaded {
  readonly kind: 'downloaded';
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly bytes: number;
}

/**
 * The one port through which HTTP happens: one request, once. An implementation does not retry, does not follow a
 * redirect, asks `budget` in the last moment before the first byte, and does not throw.
 */
export interface Transport {
  post(request: TransportRequest): Promise<TransportReply | TransportFailure>;
  /** The same for a read, into an empty file. A failure's partial body is left out. */
  download(request: DownloadRequest, file: FileHandle): Promise<Downloaded | TransportFailure>;
  close(): void;
}
