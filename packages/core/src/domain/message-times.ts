import { isTimeZone, readInstant, readWallClock } from './instant.ts';
import type { Message } from './message.ts';
import { type MessageFault, type MessageProblem, problem } from './message-problem.ts';
import { nameFault, textFault } from './message-text.ts';

export interface MessageTimes {
  readonly problems: readonly MessageProblem[];
  /** As the database takes them, ISO 8601: in UTC, or of a schedule the wall clock of its zone, without an offset. */
  readonly scheduledFor: string | null;
  readonly submitBy: string | null;
}

/** When a message may leave and until when. Which instant a wall clock is depends on the database's rules of the zone alone. */
export function readTimes(message: Message, now: Date): MessageTimes {
  const problems: MessageProblem[] = [];
  const { scheduledFor: schedule, scheduledTz: zone, submitBy: deadline } = message;
  if (zone !== undefined) {
    const fault = nameFault(zone) ?? (isTimeZone(zone) ? undefined : 'unknown_zone');
    if (fault !== undefined) problems.push(problem('scheduledTz', fault));
  }

  const wallClock = zone === undefined || schedule === undefined ? undefined : readWallClock(schedule);
  const scheduledAt = wallClock === undefined ? readOne('scheduledFor', schedule, problems) : undefined;
  const submitBy = readOne('submitBy', deadline, problems);
  if (submitBy !== undefined) {
    if (submitBy <= now) problems.push(problem('submitBy', 'past'));
    else if (scheduledAt !== undefined && submitBy <= scheduledAt)
      problems.push(problem('submitBy', 'before_schedule'));
  }
  return {
    problems,
    scheduledFor: wallClock ?? scheduledAt?.toISOString() ?? null,
    submitBy: submitBy?.toISOString() ?? null,
  };
}

/** Why a message may not be held by the provider, as far as it can be said without its route. */
export function holderProblems({ heldBy, scheduledFor, class: messageClass }: Message): MessageProblem[] {
  if (heldBy !== 'provider') return [];
  const faults: MessageFault[] = [];
  if (scheduledFor === undefined) faults.push('held_needs_schedule');
  if (messageClass === 'otp') faults.push('otp_not_scheduled');
  return faults.map((fault) => problem('heldBy', fault));
}

function readOne(field: string, value: string | Date | undefined, problems: MessageProblem[]): Date | undefined {
  if (value === undefined) return undefined;
  const fault = typeof value === 'string' && value.length <= 64 ? textFault(value) : undefined;
  const instant = fault === undefined ? readInstant(value) : { ok: false as const, reason: fault };
  if (instant.ok) return instant.at;
  problems.push(problem(field, instant.reason));
  return undefined;
}
