import helmet from '@fastify/helmet';
import type { Log } from '@sendledger/worker';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  LogController,
} from 'fastify';
import { type Credentials, needCredentials } from './access/credentials.ts';
import { checkHostNames } from './access/host-names.ts';
import { isLoopback } from './access/loopback.ts';
import { html } from './html.ts';
import { page } from './page.ts';

export interface ServerOptions {
  readonly host: string;
  readonly hostNames: readonly string[];
  /** Null: nobody is asked. Only on loopback. */
  readonly credentials: Credentials | null;
  readonly log: Log;
}

/** Nothing but what we serve, no script and no style in the page itself. */
const OWN_ONLY = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'"],
  connectSrc: ["'self'"],
  formAction: ["'self'"],
  frameAncestors: ["'none'"],
  baseUri: ["'none'"],
};

/** The door: who may ask, what a browser may do with the answer, how long anything may take, what is logged of it. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  // Addresses hold what was searched for, so lines of ours name the route and not the address.
  const log: FastifyBaseLogger = options.log.child({}, { serializers: { req: () => undefined, res: () => undefined } });
  const server = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    connectionTimeout: 30_000,
    requestTimeout: 10_000,
    keepAliveTimeout: 30_000,
    // An address that cannot be read reaches no hook: it learns nothing, and is not repeated.
    frameworkErrors: (_error, _request, reply) => {
      (reply as unknown as FastifyReply).code(400).type('text/plain; charset=utf-8').send('That is no address.\n');
    },
    // Nothing here takes a body.
    bodyLimit: 1_024,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
  });
  server.decorateRequest('operator', null);
  await server.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: OWN_ONLY },
    crossOriginEmbedderPolicy: false,
    referrerPolicy: { policy: 'no-referrer' },
    // TLS, where there is any, ends before us, and this header is its own to set.
    strictTransportSecurity: false,
    xFrameOptions: { action: 'deny' },
  });
  server.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  if (isLoopback(options.host)) checkHostNames(server, options.hostNames);
  if (options.credentials !== null) await needCredentials(server, options.credentials);
  // Nothing is changed through this door.
  server.addHook('onRequest', async (request, reply) => {
    if (isReading(request)) return;
    return reply.code(405).header('allow', 'GET, HEAD').type('text/plain; charset=utf-8').send('This is only read.\n');
  });
  server.addHook('onResponse', async (request, reply) => {
    const line = { method: request.method, route: request.routeOptions.url ?? null, status: reply.statusCode };
    request.log.debug({ ...line, ms: Math.round(reply.elapsedTime) }, 'answered');
  });
  server.setNotFoundHandler(async (_request, reply) =>
    reply
      .code(404)
      .type('text/html; charset=utf-8')
      .send(page('Not here', null, html`<p>There is no such page.</p>`)),
  );
  server.setErrorHandler<FastifyError>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status < 500) return reply.code(status).type('text/plain; charset=utf-8').send(`${error.message}\n`);
    request.log.error({ err: error, route: request.routeOptions.url ?? null }, 'page_failed');
    return reply
      .code(500)
      .type('text/html; charset=utf-8')
      .send(
        page(
          'Not now',
          null,
          html`<p>${reasonOf(error)} What happened is in the log under <code>page_failed</code>.</p>`,
        ),
      );
  });
  return server;
}

export const isReading = ({ method }: { readonly method: string }) => method === 'GET' || method === 'HEAD';

/** A page never shows an error's own words: a driver puts values into them. */
function reasonOf(error: { readonly code?: string }): string {
  if (error.code === '57014') return 'The database took too long to answer.';
  return 'The page could not be made; the database may be away.';
}
