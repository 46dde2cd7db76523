import type { RowRef } from './identity.ts';
import type { ReplayAnswer } from './replay.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface FallbackAnswer {
  /**
   * `created`: the next step of its chain is in the ledger, pending. Each other one is a refusal: `none` is left · `open`, `unknown`:
   * not yet · `delivered` · `replaced` · `doubtful`: closed, and something says that it was sent · `cancelled` · `superseded` by a newer code · `too_late` · `no_route`.
   */
  readonly answer:
    | 'created'
    | 'none'
    | 'open'
    | 'unknown'
    | 'delivered'
    | 'replaced'
    | 'doubtful'
    | 'cancelled'
    | 'superseded'
    | 'too_late'
    | 'no_route'
    | 'not_found';
  readonly message: RowRef | null;
  readonly attemptKey: string | null;
  /** The lane to wake after the commit. */
  readonly lane: ReplayAnswer['lane'];
  readonly reason: string | null;
}

/** Takes the next step of a message's chain, if it may be taken. The SQL function decides, under the locks of key and message. */
export async function fallBack(sql: Sql, message: RowRef): Promise<FallbackAnswer> {
  const [row] = await rowsOf<{
    answer: FallbackAnswer['answer'];
    message_id: string | null;
    message_created_at: string | null;
    attempt_key: string | null;
    lane: string | null;
    reason: string | null;
  }>(sql, 'select * from sendledger.fall_back($1, $2)', [message.id, message.createdAt]);
  if (row === undefined) throw new Error(`the fallback of message ${message.id} was left unanswered`);
  return {
    answer: row.answer,
    message:
      row.message_id === null || row.message_created_at === null
        ? null
        : { id: row.message_id, createdAt: new Date(row.message_created_at) },
    attemptKey: row.attempt_key,
    lane: row.lane,
    reason: row.reason,
  };
}

/** Messages that were refused or failed and have a step left. */
export async function undeliverable(sql: Sql, limit: number): Promise<(RowRef & { attemptKey: string })[]> {
  return rowsOf<RowRef & { attemptKey: string }>(
    sql,
    `select m.id, m.created_at as "createdAt", m.attempt_key as "attemptKey" from sendledger.outbound_message m
     where m.fallback_step is not null and m.state in ('rejected', 'failed') order by m.id limit $1`,
    [limit],
  );
}

/**
 * Messages that were not delivered in the time their sender gave them. The others that were looked at are looked at again when that
 * can first be so, or not at all.
 */
export async function overdue(sql: Sql, limit: number): Promise<(RowRef & { attemptKey: string })[]> {
  const due = await rowsOf<{ tenantId: string; businessKey: string; step: number }>(
    sql,
    `select f.tenant_id as "tenantId", f.business_key as "businessKey", f.step from sendledger.fallback f
     where f.look_at <= now() and f.taken_at is null order by f.look_at limit $1 for update skip locked`,
    [limit],
  );
  const ready: (RowRef & { attemptKey: string })[] = [];
  for (const { tenantId, businessKey, step } of due) {
    const [row] = await rowsOf<RowRef & { attemptKey: string; ready: boolean }>(
      sql,
      `select m.id, m.created_at as "createdAt", m.attempt_key as "attemptKey", (m.state = 'submitted' or (m.state = 'expired' and m.state_reason = 'no_receipt'))
         and greatest(m.submitted_at, m.scheduled_for) + f.after <= now() as ready
       from sendledger.message_key k
       join sendledger.outbound_message m on m.id = k.message_id and m.created_at = k.message_created_at
       join sendledger.fallback f on f.tenant_id = k.tenant_id and f.business_key = k.business_key and f.step = m.fallback_step
       where k.tenant_id = $1 and k.business_key = $2 and f.step = $3`,
      [tenantId, businessKey, step],
    );
    if (row?.ready === true) ready.push({ id: row.id, createdAt: row.createdAt, attemptKey: row.attemptKey });
    await sql.query(
      `update sendledger.fallback f
       set look_at = (
         select case when m.state = 'submitted' or (m.state = 'expired' and m.state_reason = 'no_receipt') then greatest(greatest(m.submitted_at, m.scheduled_for) + f.after, now() + interval '5 s')
           when m.state in ('pending', 'claimed', 'retry', 'unknown') then greatest(now(), m.due_at) + f.after end
         from sendledger.message_key k
         join sendledger.outbound_message m on m.id = k.message_id and m.created_at = k.message_created_at and m.fallback_step = f.step
         where k.tenant_id = f.tenant_id and k.business_key = f.business_key)
       where f.tenant_id = $1 and f.business_key = $2 and f.step = $3 and f.taken_at is null`,
      [tenantId, businessKey, step],
    );
  }
  return ready;
}
