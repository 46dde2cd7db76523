import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { assertShares, FAULT_NAMES, OUTAGE_NAMES } from './fault-names.ts';
import type { Simulation } from './simulation.ts';

const fault = z.enum(FAULT_NAMES);
const share = z.number().min(0).max(1);
const pattern = z.string().refine(isPattern, 'not a regular expression');

const copiesQuery = z.object({ mobile: z.string().min(1), msg: z.string() });
const duplicatesQuery = z.object({ limit: z.coerce.number().int().min(0).max(100_000).default(100) });
const acceptedQuery = z.object({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(100_000).default(1000),
});
const nextFault = z.object({ fault, count: z.number().int().min(1).default(1) }).strict();
const faultsBody = z
  .object({
    clear: z.literal(true),
    next: z.union([nextFault, z.array(nextFault)]),
    share: z.partialRecord(fault, share),
    forNumber: z.array(z.object({ pattern, fault }).strict()),
    outage: z.enum(OUTAGE_NAMES).nullable(),
  })
  .partial()
  .strict();

/** `/_sim/…`: what a test asks and sets. No part of the provider's API. */
export function addControlEndpoints(app: FastifyInstance, simulation: Simulation, connections: () => number): void {
  app.get('/_sim/copies', (request) => {
    const { mobile, msg } = copiesQuery.parse(request.query);
    return { copies: simulation.log.copies(mobile, msg) };
  });
  app.get('/_sim/duplicates', (request) => simulation.log.duplicates(duplicatesQuery.parse(request.query).limit));
  app.get('/_sim/accepted', (request) => {
    const { after, limit } = acceptedQuery.parse(request.query);
    const messages = simulation.log.accepted(after, limit);
    return { messages, next: messages.at(-1)?.number ?? after };
  });
  app.get('/_sim/summary', () => ({
    ...simulation.log.counts(),
    currency: simulation.options.currency,
    openConnections: connections(),
    inFlight: simulation.inFlight,
    peakInFlight: simulation.peakInFlight,
    held: simulation.faults.held,
  }));
  app.post('/_sim/reset', () => {
    simulation.reset();
    return {};
  });
  app.post('/_sim/release', () => ({ released: simulation.faults.release() }));
  app.post('/_sim/faults', (request) => {
    const change = faultsBody.parse(request.body);
    const { faults } = simulation;
    // Before anything else is set, so that a body that is refused has changed nothing.
    if (change.share !== undefined) assertShares(change.share);
    if (change.clear === true) faults.clear();
    if (change.share !== undefined) faults.share(change.share);
    for (const next of [change.next ?? []].flat()) faults.next(next.fault, next.count);
    for (const rule of change.forNumber ?? []) faults.forNumber(rule.pattern, rule.fault);
    if (change.outage !== undefined) faults.outage = change.outage;
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
