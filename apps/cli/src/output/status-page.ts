import { MESSAGE_STATES } from '@sendledger/core';
import type { LedgerStatus } from '../ledger-status.ts';
import { table } from './table.ts';
import { age, count } from './words.ts';

/** The ledger on one page, for a person. */
export function statusPage(status: LedgerStatus): string {
  const total = MESSAGE_STATES.reduce((sum, state) => sum + status.states[state], 0);
  return [
    `Messages since ${status.since.toISOString()}, at ${status.at.toISOString()}`,
    '',
    table(
      ['STATE', 'MESSAGES'],
      [...MESSAGE_STATES.map((state) => [state, count(status.states[state])]), ['all', count(total)]],
    ),
    '',
    status.billed.length === 0
      ? 'Cost: nothing yet'
      : table(
          ['CURRENCY', 'COST', 'ADJUSTED', 'UNITS'],
          status.billed.map((b) => [b.currency, b.cost, b.adjusted, b.units]),
        ),
    '',
    table(
      ['CLASS', 'OLDEST DUE', 'WITHOUT RECEIPT'],
      status.classes.map((c) => [
        c.messageClass,
        c.oldestDueSeconds === 0 ? 'none due' : age(c.oldestDueSeconds),
        `${(c.pendingRatio * 100).toFixed(1)} % of the last hour`,
      ]),
    ),
    '',
    status.workers.length === 0
      ? 'Workers: none ever registered'
      : table(
          ['WORKER', 'ALIVE', 'LAST SEEN'],
          status.workers.map((w) => [w.app, count(w.alive), `${age(secondsBetween(w.lastSeenAt, status.at))} ago`]),
        ),
    '',
    status.reviews.length === 0
      ? 'Reviews: none open'
      : table(
          ['REVIEW', 'OPEN', 'OLDEST'],
          status.reviews.map((r) => [r.kind, count(r.open), `${age(secondsBetween(r.oldestAt, status.at))} ago`]),
        ),
  ].join('\n');
}

function secondsBetween(from: Date, to: Date): number {
  return (to.getTime() - from.getTime()) / 1000;
}
