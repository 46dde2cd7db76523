import type { FastifyReply, FastifyRequest } from 'fastify';
import { credentialsHold } from './credentials.ts';
import { badParameter, INVALID_CREDENTIALS, NO_SUCH_SCHEDULE, SCHEDULE_TOO_LATE } from './error-codes.ts';
import { replyError, replyNested } from './replies.ts';
import { type Parameters, readParameters } from './request-parameters.ts';
import type { Schedule, ScheduleChange } from './schedules.ts';
import type { Simulation } from './simulation.ts';

type Handler = (simulation: Simulation, parameters: Parameters, reply: FastifyReply) => FastifyReply;

/** `/SMSApi/schedule/read`: all schedules of the account, or the one with this `uuid`. */
export const handleScheduleRead = authenticated((simulation, parameters, reply) => {
  const { schedules, options } = simulation;
  const asked = schedules.list().filter(({ uuId }) => parameters.uuid === undefined || uuId === parameters.uuid);
  const rows = asked.map((schedule) => scheduleRow(simulation, schedule));
  const scheduleList = rows.map((schedule) => ({ schedule }));
  return replyNested(reply, parameters, { ...envelope('read', rows.length), scheduleList }, rows, options);
});

/** `/SMSApi/schedule/update`: moves one schedule to `scheduletime`. */
export const handleScheduleUpdate = authenticated((simulation, parameters, reply) => {
  const { clock, options, schedules } = simulation;
  if (!parameters.uuid) return replyError(reply, parameters, badParameter('uuid is missing'), options);
  const at = clock.readDateTime(parameters.scheduletime ?? '');
  if (at === null || at <= options.now()) {
    return replyError(reply, parameters, badParameter('scheduletime must be YYYY-MM-DD HH:MM:SS to come'), options);
  }
  return replyChange(simulation, parameters, reply, 'update', schedules.move(parameters.uuid, at));
});

/** `/SMSApi/schedule/delete`: takes one schedule back. */
export const handleScheduleDelete = authenticated((simulation, parameters, reply) => {
  const { log, options, schedules } = simulation;
  if (!parameters.uuid) return replyError(reply, parameters, badParameter('uuid is missing'), options);
  const change = schedules.cancel(parameters.uuid);
  if (change === 'done' && options.refundCancelled) log.refund(parameters.uuid);
  return replyChange(simulation, parameters, reply, 'delete', change);
});

function authenticated(handler: Handler) {
  return (simulation: Simulation, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const parameters = readParameters(request);
    if (credentialsHold(request, parameters, simulation)) return handler(simulation, parameters, reply);
    return replyError(reply, parameters, INVALID_CREDENTIALS, simulation.options);
  };
}

function replyChange(
  { options }: Simulation,
  parameters: Parameters,
  reply: FastifyReply,
  action: string,
  change: ScheduleChange,
): FastifyReply {
  if (change === 'unknown') return replyError(reply, parameters, NO_SUCH_SCHEDULE, options);
  if (change === 'too-late') return replyError(reply, parameters, SCHEDULE_TOO_LATE, options);
  const row = { status: 'success' };
  return replyNested(reply, parameters, envelope(action, 1), [row], options);
}

function envelope(action: string, count: number): Record<string, unknown> {
  return { api: 'schedule', action, status: 'success', msg: 'success', code: '200', count };
}

function scheduleRow({ clock, options }: Simulation, schedule: Schedule): Record<string, string> {
  const { cancelledAt, scheduledAt } = schedule;
  const status = cancelledAt !== null ? 'DELETED' : scheduledAt <= options.now() ? 'SENT' : 'SCHEDULED';
  return {
    uuId: schedule.uuId,
    status,
    total: String(schedule.total),
    timestamp: clock.epochMs(schedule.createdAt),
    scheduledTimestamp: clock.epochMs(scheduledAt),
    lastupdatedTimestamp: schedule.updatedAt === null ? '0' : clock.epochMs(schedule.updatedAt),
  };
}
