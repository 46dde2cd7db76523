import type { HeldMessage, ScheduleMoved } from '@sendledger/core/ledger';
import { table } from './table.ts';

const REFUSALS: Readonly<Record<Exclude<ScheduleMoved['answer'], 'moved' | 'asked'>, string>> = {
  shared: 'the provider holds it with other recipients in one request; with --whole-request all of them are moved',
  too_late: 'it has left, or its time has come',
  unknown: 'nobody knows yet whether it was sent',
  not_found: 'there is no such message',
  not_scheduled: 'it was not scheduled',
  invalid: 'the new time is past, or no time; without an offset it needs a zone',
};

export function moveLine(moved: ScheduleMoved): string {
  switch (moved.answer) {
    case 'moved':
      return `moved: it waits until ${moved.scheduledFor.toISOString()}`;
    case 'asked':
      return `the provider holds it, and was asked to send it at ${moved.scheduledFor.toISOString()}; until it has, the old time stands`;
    default:
      return `not moved: ${REFUSALS[moved.answer]}`;
  }
}

export function heldTable(held: readonly HeldMessage[]): string {
  return table(
    ['ID', 'TENANT', 'ROUTE', 'CLASS', 'SENT AT', 'ZONE', 'SUBMISSION', 'ASKED'],
    held.map((m) => [
      m.id,
      m.tenantId,
      m.route,
      m.messageClass,
      m.scheduledFor.toISOString(),
      m.scheduledTz ?? '',
      m.submissionId,
      m.asked.map(askedText).join('; '),
    ]),
  );
}

function askedText({ kind, moveTo, asks, requestedBy }: HeldMessage['asked'][number]): string {
  const what = kind === 'cancel' ? 'to drop it' : `to move it to ${new Date(moveTo ?? '').toISOString()}`;
  return `${what}, by ${requestedBy}, ${asks === 1 ? 'once' : `${asks} times`}`;
}
