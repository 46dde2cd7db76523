import type { HealthChecks } from '@sendledger/worker';
import type { FastifyInstance } from 'fastify';

/** `/livez` and `/readyz`: one word each, since whoever can reach the port may ask. Reasons are in the log. */
export function serveHealth(server: FastifyInstance, health: HealthChecks): void {
  server.get('/livez', async (_request, reply) => {
    const wrong = await health.alive();
    return reply.code(wrong === null ? 200 : 503).send({ status: wrong === null ? 'alive' : 'stuck' });
  });
  server.get('/readyz', async (_request, reply) => {
    const wrong = await health.ready();
    if (wrong !== null) return reply.code(503).send({ status: 'not ready' });
    return reply.send({ status: (await health.degraded()) === null ? 'ready' : 'degraded' });
  });
}
