import type { Adapter } from '@sendledger/gateway';
import type pg from 'pg';
import { ReceiptKeeper } from '../src/keep-receipts.ts';
import { type ReportPolicy, ReportReader } from '../src/read-reports.ts';
import { UnknownResolver } from '../src/resolve-unknown.ts';
import { contextOf } from './app-context.ts';

const POLICY: ReportPolicy = { concurrency: 2, pauseMs: 600_000, longestPauseMs: 600_000 };

/** The reader as the app puts it together, for one account. */
export async function readerOf(
  pool: pg.Pool,
  adapter: Adapter,
  options: { policy?: ReportPolicy; filteredReads?: number; account?: string } = {},
): Promise<ReportReader> {
  const context = await contextOf(pool);
  const adapters = new Map([[options.account ?? 'smsgatewaycenter/default', adapter]]);
  const keeper = new ReceiptKeeper(context);
  const resolver = new UnknownResolver(context, adapters, { filteredReads: options.filteredReads ?? 20 }, keeper);
  return new ReportReader(context, adapters, options.policy ?? POLICY, keeper, resolver);
}
