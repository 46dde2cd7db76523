/**
 * The contract of a wake-up: which queues there are and what a job looks like. No Redis here; producer and workers both
 * build their queues from this, so that they cannot disagree.
 *
 * A job carries a lane and nothing else: deduplication keeps one job's data and drops the others', so an id in it would
 * be lost. `keepLastIfActive` is what makes the hint safe: plain deduplication swallows a wake-up that arrives while a
 * job of the same lane is running.
 */
export const WAKE_QUEUES = ['claim', 'submit', 'reconcile', 'backfill'] as const;
export type WakeQueue = (typeof WAKE_QUEUES)[number];

/** BullMQ key prefix; `keyPrefix` of ioredis must stay unset. */
export const WAKE_PREFIX = 'sendledger';

export interface WakeJob {
  readonly lane: string;
}

/** `route id . message class`, e.g. `3.otp`. */
export function laneName(routeId: string, messageClass: string): string {
  return `${routeId}.${messageClass}`;
}

/** The one lane of the queue `backfill`: a run is there, and its days say the rest. */
export const BACKFILL_LANE = 'days';

/** The job by which a worker says that a lane has room again; apart from that of new rows, which says that something came. */
const ROOM = 'room.';

export function roomIn(lane: string): string {
  return `${ROOM}${lane}`;
}

export function saysRoom(name: string): boolean {
  return name.startsWith(ROOM);
}

export function wakeJobOptions(lane: string) {
  return {
    deduplication: { id: lane, keepLastIfActive: true },
    removeOnComplete: true,
    removeOnFail: true,
    attempts: 1,
  } as const;
}
