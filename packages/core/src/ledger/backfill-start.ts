import { backfillDays } from '../domain/backfill-days.ts';
import { SendledgerError } from '../domain/errors.ts';
import type { BackfillAccount } from './backfill-accounts.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface NewBackfill {
  /** `YYYY-MM-DD`, days of each account's own zone, both included. */
  readonly from: string;
  readonly to: string;
  readonly accounts: readonly BackfillAccount[];
  /** Who asks for it; kept. */
  readonly who: string;
}

/**
 * Writes down that these days are to be read: a run, and for each account and day a checkpoint. Two runs may hold the same day: what is
 * applied twice changes nothing.
 *
 * @throws SendledgerError SENDLEDGER_BACKFILL_REFUSED before anything is written
 */
export async function startBackfill(
  sql: Sql,
  { from, to, accounts, who }: NewBackfill,
  now: Date = new Date(),
): Promise<{ readonly id: string; readonly checkpoints: number }> {
  if (accounts.length === 0) throw new SendledgerError('SENDLEDGER_BACKFILL_REFUSED', 'It names no account.');
  const days = backfillDays(from, to, accounts, now);
  const [run] = await rowsOf<{ id: string }>(
    sql,
    `insert into sendledger.job_run (kind, from_day, to_day, started_by) values ('backfill', $1, $2, $3) returning id`,
    [from, to, who],
  );
  if (run === undefined) throw new Error('insert into job_run returned no row');
  await sql.query(
    `insert into sendledger.job_checkpoint (run_id, provider, account, route_id, day)
     select $1::bigint, a.provider, a.account, a.route_id, d.day
     from unnest($2::date[]) as d(day), unnest($3::text[], $4::text[], $5::bigint[]) as a(provider, account, route_id)
     order by d.day, a.provider, a.account`,
    [run.id, days, accounts.map((a) => a.provider), accounts.map((a) => a.account), accounts.map((a) => a.routeId)],
  );
  return { id: run.id, checkpoints: days.length * accounts.length };
}
