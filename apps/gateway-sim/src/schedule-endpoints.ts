import type { FastifyReply, FastifyRequest } from 'fastify';
import { credentialsHold } from './credentials.ts';
import {
  badParameter,
  INVALID_CREDENTIALS,
  NO_SUCH_SCHEDULE,
  type ProviderError,
  SCHEDULE_TOO_LATE,
} from './error-codes.ts';
import { replyError, replyNested } from './replies.ts';
import { type Parameters, readParameters } from './request-parameters.ts';
import { failAfterChange, failBeforeChange } from './schedule-failures.ts';
import { goesOutAt, type Schedule, type ScheduleChange } from './schedules.ts';
import type { Simulation } from './simulation.ts';

/** `/SMSApi/schedule/read`: all schedules of the account, or the one with this `uuid`. */
export function handleScheduleRead(simulation: Simulation, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { schedules, options } = simulation;
  const parameters = readParameters(request);
  if (!credentialsHold(request, parameters, simulation)) {
    return replyError(reply, parameters, INVALID_CREDENTIALS, options);
  }
  const asked = schedules.list().filter(({ uuId, cancelledAt }) => {
    const isForgotten = options.forgetDeleted && cancelledAt !== null;
    return !isForgotten && (parameters.uuid === undefined || uuId === parameters.uuid);
  });
  const rows = asked.map((schedule) => scheduleRow(simulation, schedule));
  const scheduleList = rows.map((schedule) => ({ schedule }));
  return replyNested(reply, parameters, { ...envelope('read', rows.length), scheduleList }, rows, options);
}

/** `/SMSApi/schedule/update`: moves one schedule to `scheduletime`. */
export const handleScheduleUpdate = changing('update', ({ clock, options, schedules }, uuid, { scheduletime = '' }) => {
  const at = clock.readDateTime(scheduletime);
  if (at === null || at <= options.now()) return badParameter('scheduletime must be YYYY-MM-DD HH:MM:SS to come');
  return errorOf(schedules.move(uuid, at));
});

/** `/SMSApi/schedule/delete`: takes one schedule back. */
export const handleScheduleDelete = changing('delete', ({ log, options, schedules }, uuid) => {
  const change = schedules.cancel(uuid);
  if (change === 'done' && options.refundCancelled) log.refund(uuid);
  return errorOf(change);
});

/** @param change makes the change; answers why not, or null. */
function changing(
  action: 'update' | 'delete',
  change: (simulation: Simulation, uuid: string, parameters: Parameters) => ProviderError | null,
) {
  return async (simulation: Simulation, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { faults, options, schedules } = simulation;
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const parameters = readParameters(request);
    const fault = schedules.faults.pick();
    if (fault === 'hold-before') await faults.hold(gone.signal);
    const failed = failBeforeChange(simulation, parameters, fault, reply);
    if (failed !== null) return failed;
    const { uuid } = parameters;
    let error: ProviderError | null;
    if (!credentialsHold(request, parameters, simulation)) error = INVALID_CREDENTIALS;
    else if (!uuid) error = badParameter('uuid is missing');
    else error = change(simulation, uuid, parameters);
    if (gone.signal.aborted) return reply.hijack();
    if (error !== null) return replyError(reply, parameters, error, options);
    const answered = failAfterChange(fault, request, reply);
    return answered ?? replyNested(reply, parameters, envelope(action, 1), [{ status: 'success' }], options);
  };
}

function errorOf(change: ScheduleChange): ProviderError | null {
  switch (change) {
    case 'done':
      return null;
    case 'too-late':
      return SCHEDULE_TOO_LATE;
    case 'unknown':
      return NO_SUCH_SCHEDULE;
  }
}

function envelope(action: string, count: number): Record<string, unknown> {
  return { api: 'schedule', action, status: 'success', msg: 'success', code: '200', count };
}

function scheduleRow({ clock, options }: Simulation, schedule: Schedule): Record<string, string> {
  const { cancelledAt, scheduledAt } = schedule;
  const status = cancelledAt !== null ? 'DELETED' : goesOutAt(schedule) <= options.now() ? 'SENT' : 'SCHEDULED';
  return {
    uuId: schedule.uuId,
    status,
    total: String(schedule.total),
    timestamp: clock.epochMs(schedule.createdAt),
    scheduledTimestamp: clock.epochMs(scheduledAt),
    lastupdatedTimestamp: schedule.updatedAt === null ? '0' : clock.epochMs(schedule.updatedAt),
  };
}
