import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DAY_REPORT_FAULT_NAMES } from './day-report-faults.ts';
import { assertShares, FAULT_NAMES, OUTAGE_NAMES } from './fault-names.ts';
import { SCHEDULE_FAULT_NAMES } from './schedule-fault-names.ts';
import type { Simulation } from './simulation.ts';

const fault = z.enum(FAULT_NAMES);
const share = z.number().min(0).max(1);
const milliseconds = z.number().int().min(0);
const pattern = z.string().refine(isPattern, 'not a regular expression');
const which = z.union([pattern, share]);

const nextFault = z.object({ fault, count: z.number().int().min(1).default(1) }).strict();
const faultsBody = z
  .object({
    clear: z.literal(true),
    next: z.union([nextFault, z.array(nextFault)]),
    share: z.partialRecord(fault, share),
    forNumber: z.array(z.object({ pattern, fault }).strict()),
    outage: z.enum(OUTAGE_NAMES).nullable(),
    refuseConnectionsMs: milliseconds,
  })
  .partial()
  .strict();

const accountBody = z.object({ balance: z.string().nullable(), breakCredentials: z.boolean() }).partial().strict();

const word = z.enum(['DELIVERED', 'FAILED']);
const said = z.object({ status: z.string().min(1), cause: z.string() }).strict();
const deliveryBody = z
  .object({
    clear: z.literal(true),
    override: z.object({ pattern, said: said.nullable() }).strict(),
    stuck: which,
    late: z.object({ which, ms: milliseconds }).strict(),
    flip: z.object({ which, first: word.default('DELIVERED'), afterMs: milliseconds }).strict(),
    doubleReport: which,
  })
  .partial()
  .strict();

const pushBody = z
  .object({ to: z.string().nullable(), lose: share, duplicate: share, shuffleMs: milliseconds })
  .partial()
  .strict();

const scheduleBody = z.object({ scheduledAt: z.number().int(), total: z.number().int().min(0).default(1) }).strict();

const dispatchBody = z.object({ uuId: z.string().min(1) }).strict();
const nextScheduleFault = z
  .object({ fault: z.enum(SCHEDULE_FAULT_NAMES), count: z.number().int().min(1).default(1) })
  .strict();
const scheduleFaultsBody = z
  .object({ clear: z.literal(true), next: z.union([nextScheduleFault, z.array(nextScheduleFault)]) })
  .partial()
  .strict();

const nextDayFault = z
  .object({ fault: z.enum(DAY_REPORT_FAULT_NAMES), count: z.number().int().min(1).default(1) })
  .strict();
const dayReportsBody = z
  .object({
    clear: z.literal(true),
    next: z.union([nextDayFault, z.array(nextDayFault)]),
    once: z.boolean(),
    asLink: z.boolean(),
  })
  .partial()
  .strict();

/** `POST /_sim/…`: what a test sets. No part of the provider's API. A body that makes no sense changes nothing. */
export function addControlChanges(app: FastifyInstance, simulation: Simulation): void {
  const { account, dayReports, delivery, faults, push, schedules } = simulation;
  app.post('/_sim/reset', () => {
    simulation.reset();
    return {};
  });
  app.post('/_sim/release', () => ({ released: faults.release() }));
  app.post('/_sim/faults', (request, reply) => {
    const change = faultsBody.parse(request.body);
    // Before anything else is set, so that a body that is refused has changed nothing.
    if (change.share !== undefined) assertShares(change.share);
    if (change.clear === true) faults.clear();
    if (change.share !== undefined) faults.share(change.share);
    for (const next of [change.next ?? []].flat()) faults.next(next.fault, next.count);
    for (const rule of change.forNumber ?? []) faults.forNumber(rule.pattern, rule.fault);
    if (change.outage !== undefined) faults.outage = change.outage;
    const { refuseConnectionsMs } = change;
    if (refuseConnectionsMs !== undefined) {
      reply.raw.once('finish', () => void faults.refuseConnections(refuseConnectionsMs));
    }
    return {};
  });
  app.post('/_sim/account', (request) => {
    const change = accountBody.parse(request.body);
    if (change.balance !== undefined) account.setBalance(change.balance);
    if (change.breakCredentials !== undefined) account.breakCredentials(change.breakCredentials);
    return { balance: account.balance };
  });
  app.post('/_sim/delivery', (request) => {
    const change = deliveryBody.parse(request.body);
    if (change.clear === true) delivery.clear();
    if (change.override !== undefined) delivery.override(change.override.pattern, change.override.said);
    if (change.stuck !== undefined) delivery.stuck(change.stuck);
    if (change.late !== undefined) delivery.late(change.late.which, change.late.ms);
    if (change.flip !== undefined) delivery.flip(change.flip.which, change.flip);
    if (change.doubleReport !== undefined) delivery.doubleReport(change.doubleReport);
    return {};
  });
  app.post('/_sim/push', (request) => {
    const { to, ...broken } = pushBody.parse(request.body);
    if (to !== undefined) push.to(to);
    push.faults(Object.fromEntries(Object.entries(broken).filter(([, value]) => value !== undefined)));
    return push.counts();
  });
  app.post('/_sim/schedules', (request) => ({ uuId: schedules.add(scheduleBody.parse(request.body)) }));
  app.post('/_sim/schedules/dispatch', (request) => ({
    change: schedules.dispatch(dispatchBody.parse(request.body).uuId),
  }));
  app.post('/_sim/day-reports', (request) => {
    const change = dayReportsBody.parse(request.body);
    if (change.clear === true) dayReports.clear();
    for (const next of [change.next ?? []].flat()) dayReports.next(next.fault, next.count);
    if (change.once !== undefined) dayReports.once = change.once;
    if (change.asLink !== undefined) dayReports.asLink = change.asLink;
    return {};
  });
  app.post('/_sim/schedules/faults', (request) => {
    const change = scheduleFaultsBody.parse(request.body);
    if (change.clear === true) schedules.faults.clear();
    for (const next of [change.next ?? []].flat()) schedules.faults.next(next.fault, next.count);
    return {};
  });
}

function isPattern(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}
