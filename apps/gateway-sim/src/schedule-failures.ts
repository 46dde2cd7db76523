import type { FastifyReply, FastifyRequest } from 'fastify';
import { UNLISTED } from './error-codes.ts';
import { replyError, replyHtml } from './replies.ts';
import type { Parameters } from './request-parameters.ts';
import type { ScheduleFaultName } from './schedule-fault-names.ts';
import { reset } from './send-failures.ts';
import type { Simulation } from './simulation.ts';

/** Answers an update or deletion that is not to be done; null when the fault is none of those. */
export function failBeforeChange(
  { options }: Simulation,
  parameters: Parameters,
  fault: ScheduleFaultName | null,
  reply: FastifyReply,
): FastifyReply | null {
  switch (fault) {
    case 'hang-before':
      return reply.hijack();
    case 'refuse':
      return replyError(reply, parameters, UNLISTED, options);
    case 'http-500':
      return replyHtml(reply, 500, '500 Internal Server Error');
    default:
      return null;
  }
}

/** Answers an update or deletion that was done in some other way than with its success; null as above. */
export function failAfterChange(
  fault: ScheduleFaultName | null,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | null {
  switch (fault) {
    case 'done-then-hang':
      return reply.hijack();
    case 'done-then-reset':
      return reset(request, reply);
    case 'done-then-502':
      return replyHtml(reply, 502, '502 Bad Gateway');
    default:
      return null;
  }
}
