import type { FastifyInstance } from 'fastify';
import { isLoopback } from './loopback.ts';

/** The name in a Host header, without port and brackets; null: it is none. */
export function hostName(header: string | undefined): string | null {
  const [, v6, name] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+))(?::\d{1,5})?$/.exec(header ?? '') ?? [];
  return (v6 ?? name)?.toLowerCase() ?? null;
}

/**
 * On loopback nobody is asked who they are, so a website whose name has been pointed at 127.0.0.1 could read everything through the
 * operator's browser. What is asked for under a name that is not ours is not answered.
 */
export function checkHostNames(server: FastifyInstance, names: readonly string[]): void {
  server.addHook('onRequest', async (request, reply) => {
    const name = hostName(request.headers.host);
    if (name !== null && (isLoopback(name) || names.includes(name))) return;
    return reply
      .code(421)
      .type('text/plain; charset=utf-8')
      .send('This name does not lead here. Set SENDLEDGER_OPS_HOSTS to the names under which ops is reached.\n');
  });
}
