import { backfillRuns } from '@sendledger/core/ledger';
import { type AppContext, type HealthChecks, Loop, type RunningApp } from '@sendledger/worker';
import type { Credentials } from './access/credentials.ts';
import { serveHealth } from './health.ts';
import { serveMessages } from './messages/routes.ts';
import { LedgerMetrics, serveMetrics } from './metrics.ts';
import { type CensusOptions, CensusTaker } from './overview/census-round.ts';
import { OverviewReader } from './overview/reader.ts';
import { serveOverview } from './overview/routes.ts';
import { serveBoard } from './queues/board.ts';
import { WakeQueueViews } from './queues/wake-queues.ts';
import { createServer } from './server.ts';
import { serveStaticFiles } from './static-files.ts';

export interface OpsOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly hostNames: readonly string[];
  readonly credentials: Credentials | null;
  /** Null: none is configured. */
  readonly redisUrl: string | null;
  readonly census: CensusOptions;
}

/** Of backfills, the newest. */
const BACKFILLS_SHOWN = 5;

/** Puts the rooms behind the door and opens it. */
export async function startOps(
  context: AppContext,
  health: HealthChecks,
  options: OpsOptions,
): Promise<RunningApp & { readonly url: string }> {
  const { log, registry } = context;
  const census = new CensusTaker(context, options.census);
  const reader = new OverviewReader(context.sql);
  const metrics = new LedgerMetrics(registry);
  const views = options.redisUrl === null ? null : new WakeQueueViews(options.redisUrl, log);
  const server = await createServer({ ...options, log });
  serveHealth(server, health);
  serveStaticFiles(server);
  serveOverview(server, {
    reader,
    redis: () => (views === null ? 'none' : views.up ? 'up' : 'down'),
    backfills: () => backfillRuns(context.sql, BACKFILLS_SHOWN),
  });
  serveMessages(server, context.sql);
  await serveBoard(server, views);
  serveMetrics(server, () => metrics.scrape(census.holds ? () => reader.read() : null), registry.contentType);
  const url = await server.listen({ host: options.host, port: options.port });
  const counting = new Loop('census', options.census.intervalMs, log, census.round);
  return {
    url,
    loops: [counting],
    rest: async () => {
      await server.close();
      await views?.close();
      await census.leave();
    },
  };
}
