import Fastify, { type FastifyInstance } from 'fastify';
import type { Registry } from './metrics.ts';

/** A named reason why this process is not well; null when it is. */
type Check = () => Promise<string | null> | string | null;

/** What is asked of a process, whoever serves the answers. */
export interface HealthChecks {
  /** Alive: the process moves. No dependency is asked: a restart would not mend Postgres. */
  readonly alive: Check;
  /** Ready: it can do its work. Redis is not part of it; without Redis it works by polling. */
  readonly ready: Check;
  /** Said beside a good answer: `redis is down, working by polling`. */
  readonly degraded: Check;
}

export interface HealthOptions extends HealthChecks {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
}

/** `/livez`, `/readyz` and `/metrics`. */
export async function startHealth(options: HealthOptions): Promise<{ url: string; close(): Promise<void> }> {
  const server: FastifyInstance = Fastify({ logger: false });
  server.get('/livez', async (_request, reply) => {
    const wrong = await options.alive();
    return reply.code(wrong === null ? 200 : 503).send({ status: wrong === null ? 'alive' : 'stuck', reason: wrong });
  });
  server.get('/readyz', async (_request, reply) => {
    const wrong = await options.ready();
    if (wrong !== null) return reply.code(503).send({ status: 'not ready', reason: wrong });
    const degraded = await options.degraded();
    return reply.send({ status: degraded === null ? 'ready' : 'degraded', reason: degraded });
  });
  server.get('/metrics', async (_request, reply) => {
    return reply.type(options.registry.contentType).send(await options.registry.metrics());
  });
  const url = await server.listen({ host: options.host, port: options.port });
  return { url, close: () => server.close() };
}
