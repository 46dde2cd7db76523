import type { FastifyRequest } from 'fastify';
import type { GatewaySimOptions } from './options.ts';
import type { Parameters } from './request-parameters.ts';

/** Whether the call may pass: `userid` (in lower case) always, and with it either the password or the API key header. */
export function credentialsHold(
  request: FastifyRequest,
  parameters: Parameters,
  options: Pick<GatewaySimOptions, 'userid' | 'password' | 'apiKey'>,
): boolean {
  if (parameters.userid !== options.userid) return false;
  return parameters.password === options.password || request.headers.apikey === options.apiKey;
}
