import type { FastifyRequest } from 'fastify';
import type { Parameters } from './request-parameters.ts';
import type { Simulation } from './simulation.ts';

/** Whether the call may pass: `userid` (in lower case) always, and with it either the password or the API key header. */
export function credentialsHold(
  request: FastifyRequest,
  parameters: Parameters,
  { options, account }: Pick<Simulation, 'options' | 'account'>,
): boolean {
  if (account.credentialsBroken || parameters.userid !== options.userid) return false;
  return parameters.password === options.password || request.headers.apikey === options.apiKey;
}
