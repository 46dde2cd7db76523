import { SendledgerError } from '../domain/errors.ts';
import type { MessageClass } from '../domain/state.ts';
import { needNameAndReason } from './audit-log.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface ScheduleMove {
  /** Only a message of this tenant. */
  readonly tenantId: string;
  readonly messageId: string;
  /** An instant with its offset; without one it is the wall clock of `zone`, or of the zone it was scheduled in. */
  readonly to: string | Date;
  /** IANA zone. Default: the one it was scheduled in. */
  readonly zone?: string | null;
  /** A provider that holds it moves whole requests: the other recipients of it are meant too. */
  readonly wholeRequest?: boolean;
  /** Who asks, and why: kept. */
  readonly who: string;
  readonly why: string;
}

export type ScheduleMoved =
  /**
   * `moved`: it waits here, for the new time, and keeps its validity: `submit_by` moved with it. Wake its lane after the commit.
   * `asked`: the provider holds it, and is asked to send it at the new time; until its list shows that, the old time stands.
   */
  | { readonly answer: 'moved' | 'asked'; readonly scheduledFor: Date; readonly lane: string }
  /**
   * Refused, and nothing has changed. `shared`: the provider holds it with other recipients in one request · `too_late`: it left, or
   * its time has come · `unknown`: nobody knows whether it was sent · `not_found` · `not_scheduled` · `invalid`: the new time is no
   * time, is past, or its zone is none.
   */
  | { readonly answer: 'shared' | 'too_late' | 'unknown' | 'not_found' | 'not_scheduled' | 'invalid' };

/**
 * Gives a scheduled message another time. Run it in a transaction of its own: a submission that nobody marked is released for it.
 *
 * @throws SendledgerError SENDLEDGER_REASON_NEEDED before anything is asked, where who or why is empty
 */
export async function moveSchedule(sql: Sql, move: ScheduleMove): Promise<ScheduleMoved> {
  needNameAndReason(`The new time of message ${move.messageId}`, move.who, move.why);
  const [row] = await rowsOf<{
    answer: ScheduleMoved['answer'];
    lane: string | null;
    scheduled_for: string | Date | null;
  }>(sql, 'select * from sendledger.move_schedule($1, $2::bigint, $3, $4, $5, $6, $7)', [
    move.tenantId,
    move.messageId,
    typeof move.to === 'string' ? move.to : move.to.toISOString(),
    move.zone ?? null,
    move.wholeRequest ?? false,
    move.who,
    move.why,
  ]);
  if (row === undefined) throw new SendledgerError('SENDLEDGER_MIGRATION_MISSING', 'The move was left unanswered.');
  const { answer, lane, scheduled_for: scheduledFor } = row;
  if (answer !== 'moved' && answer !== 'asked') return { answer };
  if (lane === null || scheduledFor === null)
    throw new SendledgerError('SENDLEDGER_MIGRATION_MISSING', 'The move was answered by half.');
  return { answer, scheduledFor: new Date(scheduledFor), lane };
}

/** A message that a provider keeps for us until its time. */
export interface HeldMessage {
  readonly id: string;
  readonly createdAt: Date;
  readonly tenantId: string;
  readonly route: string;
  readonly messageClass: MessageClass;
  readonly scheduledFor: Date;
  readonly scheduledTz: string | null;
  readonly submissionId: string;
  readonly providerTxnId: string | null;
  /** What the provider was asked about its request, and has not been seen to have done. */
  readonly asked: readonly {
    readonly kind: 'cancel' | 'move';
    /** ISO 8601. */
    readonly moveTo: string | null;
    readonly requestedBy: string;
    readonly asks: number;
    readonly answered: string | null;
    readonly seen: string | null;
  }[];
}

/** What providers hold for us, the next first. */
export async function heldSchedules(sql: Sql, limit: number): Promise<HeldMessage[]> {
  return rowsOf<HeldMessage>(
    sql,
    `select m.id, m.created_at as "createdAt", m.tenant_id as "tenantId", r.name as route, m.message_class as "messageClass",
       m.scheduled_for as "scheduledFor", m.scheduled_tz as "scheduledTz", m.submission_id as "submissionId",
       m.provider_txn_id as "providerTxnId",
       coalesce((select json_agg(json_build_object('kind', c.kind, 'moveTo', c.move_to, 'requestedBy', c.requested_by,
           'asks', c.asks, 'answered', c.answered, 'seen', c.seen) order by c.id)
         from sendledger.schedule_change c where c.submission_id = m.submission_id and c.ended_at is null), '[]') as asked
     from sendledger.outbound_message m join sendledger.route r on r.id = m.route_id
     where m.held_by = 'provider' and m.state = 'submitted' and m.scheduled_for > now()
     order by m.scheduled_for, m.id limit $1`,
    [limit],
  );
}
