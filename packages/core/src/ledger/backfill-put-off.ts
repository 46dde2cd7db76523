import type { BackfillDay } from './backfill-take.ts';
import type { Sql } from './sql.ts';

/** Why a day could not be done this time. */
export interface PutOff {
  readonly kind: 'not_yet' | 'refused' | 'unreadable' | 'unavailable' | 'fault';
  /** Holds no text of a message and no credential. */
  readonly detail: string;
  readonly inMs: number;
}

/** Gives a day back, to be tried again after a pause; it stays open until it is read or its run is cancelled. */
export async function putOffBackfillDay(
  sql: Sql,
  { id, token }: Pick<BackfillDay, 'id' | 'token'>,
  { kind, detail, inMs }: PutOff,
): Promise<void> {
  await sql.query(
    `update sendledger.job_checkpoint c
     set lease_token = null, lease_until = null, worker_id = null, error_kind = $3, error = $4, next_at = now() + $5 * interval '1 ms'
     where c.id = $1 and c.lease_token = $2 and c.state in ('waiting', 'stored')`,
    [id, token, kind, detail.slice(0, 500), inMs],
  );
}

/** Gives a day back untouched: the worker ends. */
export async function giveBackBackfillDay(sql: Sql, { id, token }: Pick<BackfillDay, 'id' | 'token'>): Promise<void> {
  await sql.query(
    `update sendledger.job_checkpoint c set lease_token = null, lease_until = null, worker_id = null
     where c.id = $1 and c.lease_token = $2 and c.state in ('waiting', 'stored')`,
    [id, token],
  );
}
