import formbody from '@fastify/formbody';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { ZodError, z } from 'zod';
import { handleAccountStatus } from './account-endpoint.ts';
import type { CallName } from './calls.ts';
import { addControlChanges } from './control-changes.ts';
import { addControlEndpoints } from './control-endpoints.ts';
import { handleDayFile, handleDayReport } from './day-endpoint.ts';
import { badParameter } from './error-codes.ts';
import { replyError, replyHtml } from './replies.ts';
import { handleReport } from './report-endpoint.ts';
import { readParameters } from './request-parameters.ts';
import { handleScheduleDelete, handleScheduleRead, handleScheduleUpdate } from './schedule-endpoints.ts';
import { handleSend } from './send-endpoint.ts';
import { reset } from './send-failures.ts';
import type { Simulation } from './simulation.ts';

type Handler = (simulation: Simulation, request: FastifyRequest, reply: FastifyReply) => unknown;
type NameOf = (request: FastifyRequest) => CallName;

const BODY_LIMIT_BYTES = 8 * 1024 * 1024;

/** The HTTP server of one simulation, not yet listening. @param connections sockets open at present. */
export async function buildServer(simulation: Simulation, connections: () => number): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    // Hanging and held requests would keep a polite close waiting for ever.
    forceCloseConnections: true,
    rewriteUrl: (request) => withoutIndexPhp(request.url ?? '/'),
  });
  await app.register(formbody, { bodyLimit: BODY_LIMIT_BYTES });
  // Anything else (multipart, XML) is read and ignored: the parameters are then missing, and the answer says which.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));

  const provider = (url: string, name: CallName | NameOf, handler: Handler, method = ['GET', 'POST']): void => {
    app.route({
      method,
      url,
      handler: (request, reply) => {
        simulation.calls.add(typeof name === 'string' ? name : name(request));
        return failByOutage(simulation, request, reply) ?? handler(simulation, request, reply);
      },
    });
  };
  provider('/SMSApi/send', 'send', handleSend);
  provider('/SMSApi/report/status', reportName, handleReport);
  provider('/SMSApi/reports/status', reportName, handleReport);
  provider('/SMSApi/report/day', 'dayReport', handleDayReport);
  provider('/SMSApi/report/file/:token', 'dayFile', handleDayFile, ['GET']);
  provider('/SMSApi/account/readstatus', 'readstatus', handleAccountStatus);
  provider('/SMSApi/schedule/read', 'scheduleRead', handleScheduleRead);
  provider('/SMSApi/schedule/update', 'scheduleUpdate', handleScheduleUpdate, ['POST']);
  provider('/SMSApi/schedule/delete', 'scheduleDelete', handleScheduleDelete);
  addControlEndpoints(app, simulation, connections);
  addControlChanges(app, simulation);

  app.setNotFoundHandler((_request, reply) => replyHtml(reply, 404, '404 Not Found'));
  app.setErrorHandler((error, request, reply) => {
    if (!request.url.startsWith('/_sim/')) {
      return replyError(reply, { output: 'json' }, badParameter('the body cannot be read'), simulation.options);
    }
    if (error instanceof ZodError) return reply.code(400).send({ error: z.prettifyError(error) });
    const message = error instanceof Error ? error.message : String(error);
    return reply.code(error instanceof RangeError ? 400 : 500).send({ error: message });
  });
  return app;
}

function reportName(request: FastifyRequest): CallName {
  return readParameters(request).method === undefined ? 'reportByTransaction' : 'getDlr';
}

function failByOutage(simulation: Simulation, request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
  switch (simulation.faults.outage) {
    case null:
      return null;
    case 'reset-before-accept':
      return reset(request, reply);
    case 'hang-before-accept':
      return reply.hijack();
    case 'http-500':
      return replyHtml(reply, 500, '500 Internal Server Error');
    case 'html-under-200':
      return replyHtml(reply, 200, '502 Bad Gateway');
  }
}

/** `/index.php?url=SMSApi/send&…` is another way to write `/SMSApi/send?…`. */
function withoutIndexPhp(url: string): string {
  const match = /^\/index\.php\?url=([^&]+)&?(.*)$/.exec(url);
  return match === null ? url : `/${decodeURIComponent(match[1] ?? '')}?${match[2] ?? ''}`;
}
