import { rowsOf, type Sql } from './sql.ts';

/** Which dataset this is, and whether it may send; beside it what the cluster says of itself right now. */
export interface Dataset {
  readonly environment: string;
  readonly status: 'ok' | 'checking' | 'hold';
  readonly statusReason: string | null;
  readonly epochNo: number;
  readonly heartbeatAt: Date;
  /** True while the row names the cluster and the timeline it is read from. */
  readonly sameCluster: boolean;
  readonly sameTimeline: boolean;
}

/** Null when the row is missing: migrations ran, but nobody said to which environment the database belongs. */
export async function readDataset(sql: Sql): Promise<Dataset | null> {
  const [row] = await rowsOf<Dataset>(
    sql,
    `select e.environment, e.status, e.status_reason as "statusReason", e.epoch_no as "epochNo", e.heartbeat_at as "heartbeatAt",
       e.system_identifier = (select c.system_identifier::text from pg_control_system() c) as "sameCluster",
       case when pg_is_in_recovery() then false
         else e.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as "sameTimeline"
     from sendledger.dataset_epoch e`,
  );
  return row ?? null;
}
