import type { BackfillSummary } from '@sendledger/core/ledger';
import type { FastifyInstance } from 'fastify';
import { overviewFigures, overviewPage, type RedisState } from './overview-page.ts';
import type { OverviewReader } from './reader.ts';

export interface OverviewSources {
  readonly reader: OverviewReader;
  readonly redis: () => RedisState;
  readonly backfills: () => Promise<readonly BackfillSummary[]>;
}

export function serveOverview(server: FastifyInstance, sources: OverviewSources): void {
  const view = async () => ({
    overview: await sources.reader.read(),
    redis: sources.redis(),
    backfills: await sources.backfills(),
  });
  server.get('/', async (_request, reply) => reply.type('text/html; charset=utf-8').send(overviewPage(await view())));
  server.get('/overview/figures', async (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(overviewFigures(await view()).toString()),
  );
}
