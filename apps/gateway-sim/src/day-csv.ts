import type { LoggedMessage, TransactionHead } from './books.ts';
import { deliveredAt, deliveryOf } from './delivery.ts';
import { formatAmount } from './money.ts';
import type { Simulation } from './simulation.ts';
import { isVisible } from './visible.ts';

const COLUMNS = [
  'uuId',
  'msgId',
  'mobileNo',
  'senderName',
  'msgType',
  'text',
  'length',
  'cost',
  'Status',
  'Cause',
  'Submitted Time',
  'Delivered Time',
];

/** Rows that nobody can read: too few fields, an open quote, nobody named, and one that is too long. */
const BAD_ROWS = [
  '1,2,3\r\n',
  '"an open quote,b,c,d,e,f,g,h,i,j,k,l\r\n',
  ',,,SMSGAT,text,of nobody,1,0.1200,DELIVERED,Success,,\r\n',
  `${'x'.repeat(100_000)}\r\n`,
];

/** The file in the archive of a day, a row at a time. @param bad with rows that nobody can read, one after every tenth and at the end. */
export function* dayCsv(simulation: Simulation, day: { start: number; end: number }, bad: boolean): Generator<string> {
  yield `${COLUMNS.join(',')}\r\n`;
  const { log, delivery, options } = simulation;
  let rows = 0;
  let spoiled = 0;
  for (const place of log.messagesBetween(day.start, day.end)) {
    const head = log.headOf(place);
    if (!isVisible(head, options)) continue;
    const message = log.message(place);
    const copies = delivery.isDoubled(message) ? [message.msgId, message.secondMsgId] : [message.msgId];
    for (const msgId of copies) yield row(simulation, head, message, msgId);
    if (bad && ++rows % 10 === 0) yield BAD_ROWS[spoiled++ % BAD_ROWS.length] ?? '';
  }
  if (bad) yield* BAD_ROWS;
}

function row(simulation: Simulation, head: TransactionHead, message: LoggedMessage, msgId: string): string {
  const { clock, delivery: script, options } = simulation;
  const delivery = deliveryOf(script, message, head.dispatchedAt, options.now());
  const delivered = deliveredAt(delivery);
  const fields = [
    head.id,
    msgId,
    message.mobile,
    head.senderid,
    head.msgType,
    head.text,
    String(head.units),
    formatAmount(simulation.pricePerSegment * BigInt(head.units)),
    delivery.status,
    delivery.cause,
    clock.dateTime(head.dispatchedAt),
    delivered === null ? '' : clock.dateTime(delivered),
  ];
  return `${fields.map(written).join(',')}\r\n`;
}

function written(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
