import type { BackfillDay } from './backfill-take.ts';
import { countOf, type Sql } from './sql.ts';

/** What a read that came to its end found. */
export interface DayRead {
  /** Rows of the report, bad ones included. */
  readonly rows: number;
  readonly badRows: number;
  readonly bytes: number;
  readonly unmappedColumns: readonly string[];
}

/** waiting → stored: every row of the day is on disk, and it need not be read again. Answers whether the day was still this worker's. */
export async function backfillDayStored(
  sql: Sql,
  { id, token }: Pick<BackfillDay, 'id' | 'token'>,
  read: DayRead,
): Promise<boolean> {
  const moved = await countOf(
    sql,
    `update sendledger.job_checkpoint c
     set state = 'stored', stored_at = now(), rows_read = $3, bad_rows = $4, bytes_read = $5, unmapped_columns = $6, error_kind = null, error = null
     where c.id = $1 and c.lease_token = $2 and c.state = 'waiting'`,
    [id, token, read.rows, read.badRows, read.bytes, read.unmappedColumns.length === 0 ? null : read.unmappedColumns],
  );
  return moved > 0;
}
