import {
  durably,
  expireUnsubmitted,
  type MovedRow,
  sweepCancelled,
  sweepMarkedLeases,
  sweepOpenLeases,
  unsweptCancellations,
} from '@sendledger/core/ledger';
import { type AppContext, Counter, movedLine, type Round } from '@sendledger/worker';

/**
 * What the clock moves: leases that ran out before the mark give their rows back, those that ran out after it leave them
 * unknown, and rows past `submit_by` expire. Each sweep is a bounded batch and safe in many copies.
 */
export function sweepRound(context: AppContext, batch: number): () => Promise<Round> {
  const swept = new Counter({
    name: 'sendledger_swept_messages_total',
    help: 'Messages moved by the clock, by what moved them.',
    labelNames: ['sweep'],
    registers: [context.registry],
  });

  return async () => {
    const released = await durably(context.pool, 'release', (sql) => sweepOpenLeases(sql, batch));
    if (released.submissions > 0) context.log.warn(released, 'lease_released');
    // Collected inside and logged after the commit: a line says what is so.
    const unknown: MovedRow[] = [];
    const lost = await durably(context.pool, 'lost lease', (sql) =>
      sweepMarkedLeases(sql, batch, (row) => unknown.push(row)),
    );
    for (const row of unknown) context.log.error(movedLine(row), 'lease_lost');
    for (const move of lost.breakers) context.log.warn(move, `breaker_${move.became}`);
    for (const message of await unsweptCancellations(context.sql, batch)) {
      const answer = await sweepCancelled(context.pool, message);
      context.log.warn({ message: message.id, answer }, 'successor_cancelled');
    }
    const late: MovedRow[] = [];
    const expired = await durably(context.pool, 'expiry', (sql) =>
      expireUnsubmitted(sql, batch, (row) => late.push(row)),
    );
    for (const row of late) context.log.warn(movedLine(row), 'expired_unsubmitted');

    swept.inc({ sweep: 'released' }, released.rows);
    swept.inc({ sweep: 'unknown' }, lost.rows);
    swept.inc({ sweep: 'expired' }, expired);
    const full = [released.submissions, lost.submissions, expired].some((count) => count >= batch);
    return full ? 'more' : 'none';
  };
}
