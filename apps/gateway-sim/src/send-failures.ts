import type { FastifyReply, FastifyRequest } from 'fastify';
import { TEMPORARY, THROTTLED, UNLISTED } from './error-codes.ts';
import type { FaultName } from './fault-names.ts';
import { flatText, replyError, replyFlat, replyHtml, replyThrottled } from './replies.ts';
import type { Parameters } from './request-parameters.ts';
import type { Simulation } from './simulation.ts';

const RETRY_AFTER_S = 1;

/** Answers a send that is not to be accepted; null when the fault is none of those. */
export function failBeforeAccept(
  simulation: Simulation,
  parameters: Parameters,
  fault: FaultName,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | null {
  const { log, options } = simulation;
  switch (fault) {
    case 'refuse-before-accept':
      log.refused++;
      return replyError(reply, parameters, TEMPORARY, options);
    case 'throttle-429':
      log.refused++;
      return replyThrottled(reply, parameters, THROTTLED, RETRY_AFTER_S, options);
    case 'unlisted-error':
      log.refused++;
      return replyError(reply, parameters, UNLISTED, options);
    case 'reset-before-accept':
      return reset(request, reply);
    case 'hang-before-accept':
      return reply.hijack();
    case 'http-500':
      return replyHtml(reply, 500, '500 Internal Server Error');
    case 'html-under-200':
      return replyHtml(reply, 200, '502 Bad Gateway');
    default:
      return null;
  }
}

/** Answers a send that was accepted in some other way than with its success; null when the fault is none of those. */
export function failAfterAccept(
  simulation: Simulation,
  parameters: Parameters,
  success: Readonly<Record<string, string>>,
  fault: FaultName | null,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | null {
  const { options } = simulation;
  switch (fault) {
    case 'accept-then-hang':
      return reply.hijack();
    case 'accept-then-reset':
      return reset(request, reply);
    case 'accept-then-502':
      return replyHtml(reply, 502, '502 Bad Gateway');
    case 'accept-then-html-under-200':
      return replyHtml(reply, 200, '502 Bad Gateway');
    case 'accept-then-plain':
      return replyFlat(reply, { ...parameters, output: 'plain' }, success, options);
    case 'accept-then-unlisted-error':
      return replyError(reply, parameters, UNLISTED, options);
    case 'truncate-reply':
      return truncate(request, reply, flatText(parameters, success, options), options.truncateBytes);
    default:
      return null;
  }
}

/** Ends the connection with RST instead of FIN, as a crashed or overloaded server does. */
export function reset(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.hijack();
  request.raw.socket.resetAndDestroy();
  return reply;
}

/** Announces the whole body, writes the beginning of it, and ends the connection with FIN. */
function truncate(request: FastifyRequest, reply: FastifyReply, body: string, bytes: number): FastifyReply {
  reply.hijack();
  const whole = Buffer.from(body);
  reply.raw.writeHead(200, { 'content-type': 'text/html; charset=UTF-8', 'content-length': whole.length });
  // Or with no byte of the body the head would not go out either.
  reply.raw.flushHeaders();
  // The whole of it must never arrive.
  reply.raw.write(whole.subarray(0, Math.min(bytes, whole.length - 1)), () => request.raw.socket.end());
  return reply;
}
