import type http from 'node:http';
import { TimeoutError } from 'got';
import type { ReplyHeaders, TransportFailure } from './transport.ts';

export class ReplyTooLarge extends Error {
  readonly code = 'REPLY_TOO_LARGE';
  override readonly name = 'ReplyTooLarge';
}

export function replyHeaders(headers: http.IncomingHttpHeaders): ReplyHeaders {
  return {
    'content-type': headers['content-type'] ?? null,
    'retry-after': headers['retry-after'] ?? null,
    date: headers.date ?? null,
  };
}

/** Code, syscall and time-out of an error and of its causes. Messages are left behind: they may quote the request. */
export function errorFacts(error: unknown): Pick<TransportFailure, 'code' | 'syscall' | 'event'> {
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
