import { durably, expireUnsubmitted, sweepMarkedLeases, sweepOpenLeases } from '@sendledger/core/ledger';
import { type AppContext, Counter, type Round } from '@sendledger/worker';

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
    const released = await durably(context.pool, (sql) => sweepOpenLeases(sql, batch));
    if (released.submissions > 0) context.log.warn(released, 'lease_released');
    const lost = await durably(context.pool, (sql) => sweepMarkedLeases(sql, batch));
    if (lost.submissions > 0) context.log.error(lost, 'lease_lost');
    const expired = await durably(context.pool, (sql) => expireUnsubmitted(sql, batch));
    if (expired > 0) context.log.warn({ rows: expired }, 'expired_unsubmitted');

    swept.inc({ sweep: 'released' }, released.rows);
    swept.inc({ sweep: 'unknown' }, lost.rows);
    swept.inc({ sweep: 'expired' }, expired);
    const full = [released.submissions, lost.submissions, expired].some((count) => count >= batch);
    return full ? 'more' : 'none';
  };
}
