import type { FastifyReply, FastifyRequest } from 'fastify';
import { credentialsHold } from './credentials.ts';
import { INVALID_CREDENTIALS } from './error-codes.ts';
import { replyError, replyNested } from './replies.ts';
import { readParameters } from './request-parameters.ts';
import type { Simulation } from './simulation.ts';

const ENDLESS = '100000.0000';

/** `/SMSApi/account/readstatus`: the free call with which a client can ask whether the service and its account live. */
export function handleAccountStatus(
  simulation: Simulation,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { options } = simulation;
  const parameters = readParameters(request);
  if (!credentialsHold(request, parameters, simulation)) {
    return replyError(reply, parameters, INVALID_CREDENTIALS, options);
  }
  const account = {
    smsBalance: simulation.account.balance ?? ENDLESS,
    userCreditType: '2',
    operationalHours: '-1',
  };
  const response = { api: 'account', action: 'readstatus', status: 'success', msg: 'success', code: '200', count: 1 };
  return replyNested(reply, parameters, { ...response, account }, [account], options);
}
