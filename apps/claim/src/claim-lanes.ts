import { laneName, type MessageClass } from '@sendledger/core';
import { type Credits, claim, type LaneHint, type LaneRef, lanesWithWork } from '@sendledger/core/ledger';
import { at } from '@sendledger/core/points';
import { type AppContext, Counter, type Round } from '@sendledger/worker';
import type { LaneHints } from './lane-hints.ts';

export interface ClaimPolicy {
  readonly batch: number;
  readonly leaseMs: number;
}

/**
 * One round over the lanes of one class that have something due, a batch each. Each class has a loop of its own, so a long
 * promotional queue never stands before a login code.
 */
export function claimRound(
  context: AppContext,
  policy: ClaimPolicy,
  hints: LaneHints,
): (messageClass: MessageClass) => Promise<Round> {
  const claimed = new Counter({
    name: 'sendledger_claimed_messages_total',
    help: 'Messages claimed, by class.',
    labelNames: ['message_class'],
    registers: [context.registry],
  });
  const unpriced = new Counter({
    name: 'sendledger_unpriced_messages_total',
    help: 'Looks at messages that have no rate and stay pending.',
    labelNames: ['message_class'],
    registers: [context.registry],
  });

  const postponed = new Counter({
    name: 'sendledger_postponed_messages_total',
    help: 'Messages that were due outside their send window, or that a provider could not be given in time to hold them.',
    labelNames: ['message_class'],
    registers: [context.registry],
  });

  // What is owed to the tenants of each lane.
  const owed = new Map<string, Credits>();
  return async (messageClass) => {
    let found = false;
    let more = false;
    for (const lane of await lanesWithWork(context.sql, messageClass, hints.starts(messageClass))) {
      const key = laneName(lane.routeId, lane.messageClass);
      const { hint, keep } = hints.begin(lane);
      const result = await claimLane(context, lane, policy, owed.get(key), hint);
      keep(result.hint);
      owed.set(key, result.credits);
      if (result.rows > 0) claimed.inc({ message_class: lane.messageClass }, result.rows);
      if (result.unpriced > 0) unpriced.inc({ message_class: lane.messageClass }, result.unpriced);
      if (result.postponed > 0) postponed.inc({ message_class: lane.messageClass }, result.postponed);
      found = true;
      if (result.more && result.rows + result.postponed > 0) more = true;
    }
    return more ? 'more' : found ? 'some' : 'none';
  };
}

async function claimLane(
  context: AppContext,
  lane: LaneRef,
  policy: ClaimPolicy,
  credits: Credits | undefined,
  hint: LaneHint | undefined,
) {
  const result = await claim(context.pool, {
    ...lane,
    limit: policy.batch,
    leaseMs: policy.leaseMs,
    workerId: context.worker.id,
    ...(credits === undefined ? {} : { credits }),
    ...(hint === undefined ? {} : { hint }),
  });
  if (result.submissions > 0) {
    context.log.info(
      { route: lane.routeId, message_class: lane.messageClass, ...result, credits: undefined, hint: undefined },
      'claimed',
    );
    // After the commit, and for the lot.
    await context.wakeUps.send('submit', laneName(lane.routeId, lane.messageClass));
    await at('wake-up: sent');
  }
  if (result.unpriced > 0)
    context.log.warn({ route: lane.routeId, message_class: lane.messageClass, rows: result.unpriced }, 'no_rate');
  return result;
}
