import { rowsOf, type Sql } from './sql.ts';

/** A run as a whole. Sums are over its days; counts are decimal text where they may be large. */
export interface BackfillSummary {
  readonly id: string;
  /** `YYYY-MM-DD`, both included. */
  readonly from: string;
  readonly to: string;
  readonly startedBy: string;
  readonly startedAt: Date;
  /** `complete` only when no day is open: no other mark says so. */
  readonly state: 'running' | 'complete' | 'cancelled';
  readonly days: {
    readonly total: number;
    readonly waiting: number;
    readonly stored: number;
    readonly applied: number;
    readonly cancelled: number;
    /** Of those open, the ones whose last try did not do. */
    readonly failing: number;
    /** Of those open, the ones that a worker has at present. */
    readonly inHand: number;
  };
  /** Reads begun, over all days. */
  readonly reads: number;
  readonly rows: string;
  readonly badRows: string;
  readonly receipts: string;
  readonly fresh: string;
  readonly applied: string;
  readonly orphans: string;
  readonly finishedAt: Date | null;
}

/** One day of one account in a run. */
export interface BackfillDayStatus {
  readonly day: string;
  readonly provider: string;
  readonly account: string;
  readonly state: 'waiting' | 'stored' | 'applied' | 'cancelled';
  readonly inHand: boolean;
  readonly tries: number;
  readonly nextAt: Date;
  readonly errorKind: string | null;
  readonly error: string | null;
  readonly rows: string | null;
  readonly badRows: string | null;
  readonly receipts: string | null;
  readonly fresh: string | null;
  readonly applied: string | null;
  readonly orphans: string | null;
  readonly unmappedColumns: readonly string[] | null;
  readonly finishedAt: Date | null;
}

const SUMMARY = `
  select r.id, r.from_day::text as "from", r.to_day::text as "to", r.started_by as "startedBy", r.started_at as "startedAt",
    case when count(*) filter (where c.state in ('waiting', 'stored')) > 0 then 'running'
      when count(*) filter (where c.state = 'cancelled') > 0 then 'cancelled' else 'complete' end as state,
    json_build_object('total', count(*), 'waiting', count(*) filter (where c.state = 'waiting'), 'stored', count(*) filter (where c.state = 'stored'),
      'applied', count(*) filter (where c.state = 'applied'), 'cancelled', count(*) filter (where c.state = 'cancelled'),
      'failing', count(*) filter (where c.state in ('waiting', 'stored') and c.error_kind is not null),
      'inHand', count(*) filter (where c.lease_until > now())) as days,
    sum(c.tries)::integer as reads, coalesce(sum(c.rows_read), 0)::text as rows, coalesce(sum(c.bad_rows), 0)::text as "badRows",
    coalesce(sum(c.receipts), 0)::text as receipts, coalesce(sum(c.fresh), 0)::text as fresh, coalesce(sum(c.applied), 0)::text as applied,
    coalesce(sum(c.orphans), 0)::text as orphans,
    case when count(*) filter (where c.state in ('waiting', 'stored')) = 0 then max(c.finished_at) end as "finishedAt"
  from sendledger.job_run r join sendledger.job_checkpoint c on c.run_id = r.id
  where r.kind = 'backfill'`;

/** The newest runs, the newest first. */
export async function backfillRuns(sql: Sql, limit = 20): Promise<BackfillSummary[]> {
  return rowsOf<BackfillSummary>(
    sql,
    `${SUMMARY} and r.id in (select n.id from sendledger.job_run n where n.kind = 'backfill' order by n.id desc limit $1)
     group by r.id order by r.id desc`,
    [limit],
  );
}

/** One run with its days in order; null where there is none. */
export async function backfillRun(
  sql: Sql,
  runId: string,
): Promise<(BackfillSummary & { readonly checkpoints: readonly BackfillDayStatus[] }) | null> {
  const [summary] = await rowsOf<BackfillSummary>(sql, `${SUMMARY} and r.id = $1 group by r.id`, [runId]);
  if (summary === undefined) return null;
  const checkpoints = await rowsOf<BackfillDayStatus>(
    sql,
    `select c.day::text as day, c.provider, c.account, c.state, coalesce(c.lease_until > now(), false) as "inHand", c.tries, c.next_at as "nextAt",
       c.error_kind as "errorKind", c.error, c.rows_read::text as rows, c.bad_rows::text as "badRows", c.receipts::text as receipts,
       c.fresh::text as fresh, c.applied::text as applied, c.orphans::text as orphans, c.unmapped_columns as "unmappedColumns",
       c.finished_at as "finishedAt"
     from sendledger.job_checkpoint c where c.run_id = $1 order by c.day, c.provider, c.account`,
    [runId],
  );
  return { ...summary, checkpoints };
}

/** A bad row of a run. */
export interface BadRowOfRun {
  readonly day: string;
  readonly provider: string;
  readonly account: string;
  readonly file: number;
  readonly line: string;
  readonly reason: string;
  readonly evidence: Readonly<Record<string, string | null>>;
}

/** The bad rows of a run that were kept, in order. */
export async function backfillBadRows(sql: Sql, runId: string, limit: number): Promise<BadRowOfRun[]> {
  return rowsOf<BadRowOfRun>(
    sql,
    `select c.day::text as day, c.provider, c.account, b.file_no as file, b.line_no::text as line, b.reason, b.evidence
     from sendledger.job_bad_row b join sendledger.job_checkpoint c on c.id = b.checkpoint_id
     where c.run_id = $1 order by c.day, c.provider, c.account, b.file_no, b.line_no limit $2`,
    [runId, limit],
  );
}
