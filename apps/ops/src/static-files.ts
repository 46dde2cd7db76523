import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

const FILES = [
  { name: 'ops.css', type: 'text/css; charset=utf-8' },
  { name: 'refresh.js', type: 'text/javascript; charset=utf-8' },
  { name: 'icon.svg', type: 'image/svg+xml' },
] as const;

/** All there is beside the pages; read once. */
export function serveStaticFiles(server: FastifyInstance): void {
  for (const { name, type } of FILES) {
    const content = readFileSync(new URL(`./static/${name}`, import.meta.url));
    server.get(`/static/${name}`, async (_request, reply) =>
      reply.type(type).header('cache-control', 'private, max-age=300').send(content),
    );
  }
}
