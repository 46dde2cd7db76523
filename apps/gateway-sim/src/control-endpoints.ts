import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Simulation } from './simulation.ts';

const copiesQuery = z.object({ mobile: z.string().min(1), msg: z.string() });
const duplicatesQuery = z.object({ limit: z.coerce.number().int().min(0).max(100_000).default(100) });
const acceptedQuery = z.object({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(100_000).default(1000),
  mobile: z.string().min(1).optional(),
});

/** `GET /_sim/…`: what a test asks. No part of the provider's API. */
export function addControlEndpoints(app: FastifyInstance, simulation: Simulation, connections: () => number): void {
  app.get('/_sim/copies', (request) => {
    const { mobile, msg } = copiesQuery.parse(request.query);
    return { copies: simulation.log.copies(mobile, msg) };
  });
  app.get('/_sim/duplicates', (request) => simulation.log.duplicates(duplicatesQuery.parse(request.query).limit));
  app.get('/_sim/accepted', (request) => {
    const { after, limit, mobile } = acceptedQuery.parse(request.query);
    const { log } = simulation;
    const messages = mobile === undefined ? log.accepted(after, limit) : log.accepted({ mobile });
    return { messages, next: messages.at(-1)?.number ?? after };
  });
  app.get('/_sim/summary', () => ({
    ...simulation.log.counts(),
    currency: simulation.options.currency,
    openConnections: connections(),
    inFlight: simulation.inFlight,
    peakInFlight: simulation.peakInFlight,
    held: simulation.faults.held,
    balance: simulation.account.balance,
    calls: simulation.calls.counts(),
    push: simulation.push.counts(),
  }));
}
