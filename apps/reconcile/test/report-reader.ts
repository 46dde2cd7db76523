import type { Adapter } from '@sendledger/gateway';
import { ReceiptKeeper, type Round } from '@sendledger/worker';
import type pg from 'pg';
import { type ReportPolicy, ReportReader } from '../src/read-reports.ts';
import { UnknownResolver } from '../src/resolve-unknown.ts';
import { contextOf } from './app-context.ts';

const POLICY: ReportPolicy = { concurrency: 2, pauseMs: 600_000, longestPauseMs: 600_000 };

/** The reader and the resolver as the app puts them together, for one account; a round of both. */
export async function readerOf(
  pool: pg.Pool,
  adapter: Adapter,
  options: { policy?: ReportPolicy; filteredReads?: number; account?: string } = {},
): Promise<{ round(): Promise<Round> }> {
  const context = await contextOf(pool);
  const adapters = new Map([[options.account ?? 'smsgatewaycenter/default', adapter]]);
  const keeper = new ReceiptKeeper(context);
  const policy = options.policy ?? POLICY;
  const { pauseMs, longestPauseMs } = policy;
  const resolver = new UnknownResolver(
    context,
    adapters,
    { filteredReads: options.filteredReads ?? 20, pauseMs, longestPauseMs },
    keeper,
  );
  const reader = new ReportReader(context, adapters, policy, keeper, resolver);
  return {
    round: async () => {
      const rounds = [await reader.round(), await resolver.round()];
      return (['more', 'some'] as const).find((round) => rounds.includes(round)) ?? 'none';
    },
  };
}
