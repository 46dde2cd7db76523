import { writeAuditLog } from './audit-log.ts';
import type { RowRef } from './identity.ts';
import { openReview } from './open-review.ts';
import { rowsOf, type Sql } from './sql.ts';

/** A change that is asked of the provider about a request it holds. */
export interface ScheduleChange {
  readonly id: string;
  readonly kind: 'cancel' | 'move';
  readonly routeId: string;
  readonly provider: string;
  readonly account: string;
  /** IANA zone of the provider's clock strings. */
  readonly zone: string;
  readonly submission: RowRef;
  readonly size: number;
  readonly providerTxnId: string;
  readonly scheduledFor: Date;
  readonly moveTo: Date | null;
  /** The last answer, as it was noted; null: not asked yet. */
  readonly answered: string | null;
  readonly asks: number;
  readonly settleMs: number;
  readonly requestedBy: string;
  readonly reason: string;
}

/**
 * Takes changes whose time has come, and moves their next look on before anything is asked: an asker that dies costs one pause.
 *
 * @param accounts `provider/account` this process can ask
 */
export async function takeScheduleChanges(
  sql: Sql,
  limits: { readonly limit: number; readonly pauseMs: number; readonly accounts: readonly string[] },
): Promise<ScheduleChange[]> {
  const rows = await rowsOf<
    Omit<ScheduleChange, 'submission'> & { readonly submissionId: string; readonly submissionCreatedAt: Date }
  >(
    sql,
    `with due as materialized (
       select c.id from sendledger.schedule_change c
       where c.ended_at is null and c.next_at <= now()
         and c.route_id in (select r.id from sendledger.route r where r.provider || '/' || r.account = any ($3::text[]))
       order by c.next_at limit $1 for update skip locked
     ), taken as (
       update sendledger.schedule_change c
       -- Soon at first, then at a pause that grows; never much later than its time, when it is decided.
       set asks = c.asks + 1, next_at = least(now() + least($2 * power(2, least(c.asks, 10)), 600000) * interval '1 ms',
         -- Once more just before its time, while the call still helps.
         greatest(c.scheduled_for - interval '30 s', now() + $2 * interval '1 ms'))
       where c.id = any (array(select d.id from due d)) and c.ended_at is null
       returning c.*
     )
     select t.id, t.kind, t.route_id as "routeId", r.provider, r.account, r.provider_zone as zone, t.submission_id as "submissionId",
       t.submission_created_at as "submissionCreatedAt", s.size, t.provider_txn_id as "providerTxnId", t.scheduled_for as "scheduledFor",
       t.move_to as "moveTo", t.answered, t.asks, t.requested_by as "requestedBy", t.reason,
       (select extract(epoch from l.settle_within) * 1000 from sendledger.lane l
         where l.route_id = t.route_id and l.message_class = s.message_class)::double precision as "settleMs"
     from taken t
     join sendledger.route r on r.id = t.route_id
     join sendledger.submission s on s.id = t.submission_id and s.created_at = t.submission_created_at
     order by t.scheduled_for, t.kind, t.id`,
    [limits.limit, limits.pauseMs, limits.accounts],
  );
  return rows.map(({ submissionId, submissionCreatedAt, ...row }) => ({
    ...row,
    submission: { id: submissionId, createdAt: submissionCreatedAt },
  }));
}

/** What was answered and seen, of a change that is not decided yet. */
export async function noteScheduleChange(
  sql: Sql,
  change: ScheduleChange,
  note: { readonly answered: string | null; readonly seen: string | null },
): Promise<void> {
  await sql.query(
    `update sendledger.schedule_change c set answered = coalesce($2, c.answered), seen = coalesce($3, c.seen)
     -- Another time may have been wished for meanwhile; then it is asked about that.
     where c.id = $1 and c.ended_at is null and c.move_to is not distinct from $4::timestamptz`,
    [change.id, note.answered, note.seen, change.moveTo],
  );
}

/**
 * Ends a change with what was seen. A cancelled request's messages are `failed`: the provider dropped them. Their cost stays, and a
 * refund is an adjustment. A moved one's are waited for at their new time. The report is read once more after that: it may
 * contradict.
 *
 * @param firstReportMs after a message's time, when its report is read first
 * @returns messages that moved; null where somebody else ended the change before
 */
export async function endScheduleChange(
  sql: Sql,
  change: ScheduleChange,
  end: {
    readonly state: 'done' | 'too_late' | 'refused';
    readonly answered: string | null;
    readonly seen: string | null;
    readonly firstReportMs: number;
  },
): Promise<number | null> {
  // The submission before its messages, as everywhere.
  await sql.query('select from sendledger.submission s where s.id = $1 and s.created_at = $2 for no key update', [
    change.submission.id,
    change.submission.createdAt,
  ]);
  const ended = await rowsOf(
    sql,
    `update sendledger.schedule_change c
     set state = $2, answered = coalesce($3, c.answered), seen = coalesce($4, c.seen), ended_at = now()
     -- Another time may have been wished for meanwhile; then it is asked about that.
     where c.id = $1 and c.ended_at is null and c.move_to is not distinct from $5::timestamptz returning 1`,
    [change.id, end.state, end.answered, end.seen, change.moveTo],
  );
  if (ended.length === 0) return null;
  if (end.state === 'refused')
    await openReview(sql, {
      kind: 'schedule_change_refused',
      subject: `submission ${change.submission.id} ${change.kind}`,
      routeId: change.routeId,
      submission: change.submission,
      evidence: {
        provider_txn_id: change.providerTxnId,
        scheduled_for: change.scheduledFor.toISOString(),
        answered: end.answered,
        seen: end.seen,
        remedy: 'ask the provider what became of it',
      },
    });
  await writeAuditLog(sql, {
    who: change.requestedBy,
    action: `schedule_${change.kind}_${end.state}`,
    subject: `submission ${change.submission.id}`,
    message: null,
    why: change.reason,
    details: { provider_txn_id: change.providerTxnId, move_to: change.moveTo, answered: end.answered, seen: end.seen },
  });
  if (end.state !== 'done') return 0;
  // Whatever else is asked about it has until then.
  if (change.moveTo !== null)
    await sql.query(
      'update sendledger.schedule_change c set scheduled_for = $2 where c.submission_id = $1 and c.ended_at is null',
      [change.submission.id, change.moveTo],
    );
  // By id, as receipts lock them.
  await sql.query(
    `select from sendledger.outbound_message m where m.submission_id = $1 and m.state = 'submitted' order by m.id for no key update`,
    [change.submission.id],
  );
  const moved = change.kind === 'cancel' ? await failCancelled(sql, change) : await moveTimes(sql, change);
  await sql.query(
    `update sendledger.submission s set poll_at = $3::timestamptz + $4::double precision * interval '1 ms'
     where s.id = $1 and s.created_at = $2 and s.state::text = 'accepted'`,
    [
      change.submission.id,
      change.submission.createdAt,
      change.moveTo ?? change.scheduledFor,
      change.kind === 'cancel' ? change.settleMs : end.firstReportMs,
    ],
  );
  return moved;
}

async function failCancelled(sql: Sql, change: ScheduleChange): Promise<number> {
  const rows = await rowsOf(
    sql,
    `update sendledger.outbound_message m
     set state = 'failed', state_reason = 'cancelled_at_provider', reconciled_at = now(), updated_at = now()
     where m.submission_id = $1 and m.state = 'submitted' returning 1`,
    [change.submission.id],
  );
  return rows.length;
}

async function moveTimes(sql: Sql, change: ScheduleChange): Promise<number> {
  const rows = await rowsOf(
    sql,
    `update sendledger.outbound_message m
     set scheduled_for = $2, updated_at = now(), reconciled_at = now(), submit_by = m.submit_by + ($2::timestamptz - m.scheduled_for),
       scheduled_offset_s = case when m.scheduled_offset_s is not null
         then extract(epoch from ($2::timestamptz at time zone m.scheduled_tz) - ($2::timestamptz at time zone 'UTC'))::integer end,
       receipt_by = $2::timestamptz + (select l.receipt_within from sendledger.lane l
         where l.route_id = m.route_id and l.message_class = m.message_class)
     where m.submission_id = $1 and m.state = 'submitted' returning 1`,
    [change.submission.id, change.moveTo],
  );
  return rows.length;
}

/**
 * What a provider holds and a cancellation of the last minutes covers: a request that was on its way when it was cancelled, and was
 * accepted since. Answers how many messages are asked about.
 */
export async function askCoveredSince(sql: Sql, minutes: number, limit: number): Promise<number> {
  const rows = await rowsOf<{ asked: number }>(
    sql,
    `select coalesce(cardinality(sendledger.ask_cancel_held(c.tenant_id, c.id)), 0) as asked
     from (select x.id, x.tenant_id from (select y.* from sendledger.cancellation y order by y.id desc limit $2) x
       where x.created_at > now() - $1::integer * interval '1 minute'
         and exists (select from sendledger.outbound_message m where m.held_by = 'provider' and m.state = 'submitted' and m.scheduled_for > now())) c`,
    [minutes, limit],
  );
  return rows.reduce((sum, row) => sum + row.asked, 0);
}
