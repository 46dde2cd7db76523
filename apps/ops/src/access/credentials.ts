import { createHash, timingSafeEqual } from 'node:crypto';
import basicAuth from '@fastify/basic-auth';
import type { FastifyInstance } from 'fastify';

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** Answered to whoever asks: a probe has no password, and learns no more than that. */
const OPEN_ROUTES: ReadonlySet<string | undefined> = new Set(['/livez', '/readyz']);

/** Compares in constant time, also what is of another length. */
function isSame(given: string, wanted: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(wanted));
}

/** Every route needs the credentials, those that do not exist and static files too. */
export async function needCredentials(server: FastifyInstance, wanted: Credentials): Promise<void> {
  await server.register(basicAuth, {
    authenticate: { realm: 'sendledger ops' },
    validate: async (user, password, request) => {
      // Both are compared, whatever the first says.
      const [isUser, isPassword] = [isSame(user, wanted.user), isSame(password, wanted.password)];
      if (!isUser || !isPassword) throw new Error('these credentials are not the ones that are set');
      request.operator = user;
    },
  });
  server.addHook('onRequest', (request, reply, done) => {
    if (OPEN_ROUTES.has(request.routeOptions.url)) done();
    else server.basicAuth(request, reply, done);
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks, where credentials are needed. */
    operator: string | null;
  }
}
