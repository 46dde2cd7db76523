import { moveSchedule, type ScheduleMoved } from '@sendledger/core/ledger';
import { namedError } from './ledger-call.ts';
import { ownTransactions } from './own-transaction.ts';
import type { ClientPool } from './transaction.ts';
import { isMessageId, tenantOf, type WhichSettings } from './which.ts';

/** A scheduled message, and its new time. */
export interface Reschedule {
  readonly messageId: string;
  /** An instant with its offset; without one the wall clock of `zone`, or of the zone it was scheduled in. */
  readonly to: string | Date;
  readonly zone?: string | undefined;
  /** The provider holds it with other recipients in one request, and they are meant too. */
  readonly wholeRequest?: boolean | undefined;
  readonly by: string;
  readonly why: string;
  /** Default: the producer's. */
  readonly tenant?: string | undefined;
}

export interface Rescheduled {
  /** `moved`, `asked` (of the provider that holds it), or why not; see `ScheduleMoved` in the core. */
  readonly answer: ScheduleMoved['answer'];
  /** The new time, where it was moved or is asked for. */
  readonly scheduledFor?: Date;
}

/** Moves a schedule in a transaction of its own. Answers the lane to wake, where it waits here. */
export async function rescheduleMessage(
  pool: ClientPool,
  wanted: Reschedule,
  settings: WhichSettings,
): Promise<{ readonly result: Rescheduled; readonly lanes: ReadonlySet<string> }> {
  try {
    const own = ownTransactions(pool, 'A schedule is moved');
    const tenantId = tenantOf(wanted.tenant, settings);
    if (!isMessageId(wanted.messageId)) return { result: { answer: 'not_found' }, lanes: new Set() };
    if (!isTime(wanted.to)) return { result: { answer: 'invalid' }, lanes: new Set() };
    const moved = await own((sql) =>
      moveSchedule(sql, {
        tenantId,
        messageId: wanted.messageId,
        to: wanted.to,
        zone: wanted.zone ?? null,
        wholeRequest: wanted.wholeRequest ?? false,
        who: wanted.by,
        why: wanted.why,
      }),
    );
    const { answer } = moved;
    if (answer !== 'moved' && answer !== 'asked') return { result: { answer }, lanes: new Set() };
    return {
      result: { answer, scheduledFor: moved.scheduledFor },
      lanes: new Set(answer === 'moved' ? [moved.lane] : []),
    };
  } catch (error) {
    throw namedError(error);
  }
}

/** Whether it can be handed to the database at all, which then judges it. */
function isTime(to: string | Date): boolean {
  return typeof to === 'string' ? !to.includes('\0') && to.isWellFormed() : !Number.isNaN(to.getTime());
}
