import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Transaction } from './books.ts';
import { credentialsHold } from './credentials.ts';
import { deliveredAt, deliveryOf } from './delivery.ts';
import { replyDlr } from './dlr-report.ts';
import { badParameter, INVALID_CREDENTIALS } from './error-codes.ts';
import { formatAmount } from './money.ts';
import { replyError, replyNested } from './replies.ts';
import { type Parameters, readParameters } from './request-parameters.ts';
import type { Simulation } from './simulation.ts';
import { isVisible } from './visible.ts';

/** `/SMSApi/report/status`: by transaction, or by day and number with `method=getDlr`. */
export function handleReport(simulation: Simulation, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { options } = simulation;
  const parameters = readParameters(request);
  if (!credentialsHold(request, parameters, simulation)) {
    return replyError(reply, parameters, INVALID_CREDENTIALS, options);
  }
  if (parameters.method === 'getDlr') return replyDlr(simulation, parameters, reply);
  if (parameters.method !== undefined) {
    return replyError(reply, parameters, badParameter('method is not simulated'), options);
  }
  return replyTransaction(simulation, parameters, reply);
}

/** By `uuid`: one row a recipient, all rows in one answer. An id unknown here gives no rows. */
function replyTransaction(simulation: Simulation, parameters: Parameters, reply: FastifyReply): FastifyReply {
  const { options, log } = simulation;
  if (!parameters.uuid) return replyError(reply, parameters, badParameter('uuid is missing'), options);
  const transaction = log.transaction(parameters.uuid);
  const rows = transaction !== null && isVisible(transaction, options) ? transactionRows(simulation, transaction) : [];
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

function transactionRows(simulation: Simulation, transaction: Transaction): Record<string, string>[] {
  const { clock, delivery: script, options } = simulation;
  const cost = formatAmount(simulation.pricePerSegment * BigInt(transaction.units));
  return transaction.messages.flatMap((message) => {
    const delivery = deliveryOf(script, message, transaction.dispatchedAt, options.now());
    const delivered = deliveredAt(delivery);
    const row = {
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
      'Submitted Time': clock.longText(transaction.dispatchedAt),
      'Delivered Time': delivered === null ? '' : clock.longText(delivered),
    };
    return script.isDoubled(message) ? [row, { ...row, msgId: message.secondMsgId }] : [row];
  });
}
