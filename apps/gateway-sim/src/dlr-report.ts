import type { FastifyReply } from 'fastify';
import type { LoggedMessage, TransactionHead } from './books.ts';
import { deliveredAt, deliveryOf } from './delivery.ts';
import { type DlrQuery, readDlrQuery, writeCursor } from './dlr-query.ts';
import { replyError, replyNested } from './replies.ts';
import type { Parameters } from './request-parameters.ts';
import type { Simulation } from './simulation.ts';
import { isVisible } from './visible.ts';

/** `method=getDlr`: everything of some days, or of one number on them, in pages, oldest acceptance first. */
export function replyDlr(simulation: Simulation, parameters: Parameters, reply: FastifyReply): FastifyReply {
  const { options, clock } = simulation;
  const query = readDlrQuery(parameters, clock);
  if ('statusCode' in query) return replyError(reply, parameters, query, options);
  const { rows, nextCursor } = dlrPage(simulation, query);
  const response = {
    api: 'send',
    action: 'getDlr',
    status: 'success',
    msg: 'success',
    code: '200',
    count: rows.length,
    reports_dlrList: rows,
    ...(nextCursor === null ? {} : { nextCursor }),
  };
  return replyNested(reply, parameters, response, rows, options);
}

function dlrPage(
  simulation: Simulation,
  query: DlrQuery,
): { rows: Record<string, string>[]; nextCursor: string | null } {
  const { log, delivery, options } = simulation;
  const rows: Record<string, string>[] = [];
  for (const place of placesOf(simulation, query)) {
    const head = log.headOf(place);
    if (!isVisible(head, options)) continue;
    const message = log.message(place);
    const copies = delivery.isDoubled(message) ? [message.msgId, message.secondMsgId] : [message.msgId];
    for (let row = place === query.start.message ? query.start.row : 0; row < copies.length; row++) {
      if (rows.length === query.limit) return { rows, nextCursor: writeCursor({ message: place, row }) };
      rows.push(dlrRow(simulation, head, message, copies[row] ?? ''));
    }
  }
  return { rows, nextCursor: null };
}

/** The messages in question, counted from 0, from where the page begins. */
function placesOf({ log }: Simulation, { from, until, mobile, start }: DlrQuery): Iterable<number> {
  if (mobile === null) return log.messagesBetween(from, until, start.message);
  return log.messagesOf(mobile).filter((place) => {
    const at = log.dispatchedAt(place);
    return place >= start.message && at >= from && at < until;
  });
}

function dlrRow(
  { clock, delivery: script, options }: Simulation,
  head: TransactionHead,
  message: LoggedMessage,
  msgId: string,
): Record<string, string> {
  const delivery = deliveryOf(script, message, head.dispatchedAt, options.now());
  const delivered = deliveredAt(delivery);
  return {
    msgId,
    mobileNo: message.mobile,
    senderName: head.senderid,
    submitTime: clock.written(head.dispatchedAt, options.dlrTimes),
    deliveryTime: delivered === null ? '' : clock.written(delivered, options.dlrTimes),
    status: delivery.status,
    cause: delivery.cause,
    text: head.text,
    ...(options.dlrTxnIds ? { uuId: head.id } : {}),
  };
}
