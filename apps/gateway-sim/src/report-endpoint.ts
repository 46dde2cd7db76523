import type { FastifyReply, FastifyRequest } from 'fastify';
import { credentialsHold } from './credentials.ts';
import { deliveryOf } from './delivery.ts';
import { badParameter, INVALID_CREDENTIALS } from './error-codes.ts';
import { formatAmount } from './money.ts';
import { reportTime } from './provider-clock.ts';
import { replyError, replyNested } from './replies.ts';
import { readParameters } from './request-parameters.ts';
import type { Transaction } from './send-log.ts';
import type { Simulation } from './simulation.ts';

/** `/SMSApi/report/status` by `uuid`: one row a recipient, all rows in one answer. An id unknown here gives no rows. */
export function handleReport(simulation: Simulation, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { options, log } = simulation;
  const parameters = readParameters(request);
  if (!credentialsHold(request, parameters, options)) {
    return replyError(reply, parameters, INVALID_CREDENTIALS, options);
  }
  if (parameters.method !== undefined) {
    return replyError(reply, parameters, badParameter('method is not simulated'), options);
  }
  if (!parameters.uuid) return replyError(reply, parameters, badParameter('uuid is missing'), options);
  const transaction = log.transaction(parameters.uuid);
  const visible = transaction !== null && options.now() >= transaction.acceptedAt + options.visibilityLagMs;
  const rows = visible ? reportRows(simulation, transaction) : [];
  const response = {
    api: 'send',
    action: 'status',
    status: 'success',
    msg: 'success',
    code: '200',
    count: rows.length,
    [options.listKey]: rows.map((status) => ({ status })),
  };
  return replyNested(reply, parameters, response, rows, options);
}

function reportRows(simulation: Simulation, transaction: Transaction): Record<string, string>[] {
  const cost = formatAmount(simulation.pricePerSegment * BigInt(transaction.units));
  return transaction.messages.map((message) => {
    const delivery = deliveryOf(message, transaction.acceptedAt, simulation.options);
    return {
      uuId: transaction.id,
      msgId: message.msgId,
      mobileNo: message.mobile,
      senderName: transaction.senderid,
      msgType: transaction.msgType,
      text: transaction.text,
      length: String(transaction.units),
      cost,
      Status: delivery.status,
      Cause: delivery.cause,
      'Submitted Time': reportTime(transaction.acceptedAt),
      'Delivered Time':
        delivery.status === 'DELIVERED' && delivery.finalAt !== null ? reportTime(delivery.finalAt) : '',
    };
  });
}
