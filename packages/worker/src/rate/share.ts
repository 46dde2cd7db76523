import type { BucketShape } from './bucket.ts';

/** The processes that send, as the `worker` table shows them. */
export interface FleetView {
  /** Alive, this one included. */
  readonly processes: number;
  /** Of those, the ones that take from the bucket in Redis. */
  readonly onRedis: number;
  /** Place of this process among those that do not, by id, from 0; null where it does. */
  readonly place: number | null;
}

const NOTHING: BucketShape = { rate: 0, burst: 0 };

/**
 * What the bucket in Redis may give: the share of the processes that see it. Where all do, that is everything.
 */
export function redisShare(route: BucketShape, view: FleetView): BucketShape {
  if (view.onRedis >= view.processes) return route;
  const part = view.onRedis / view.processes;
  return { rate: route.rate * part, burst: Math.max(1, route.burst * part) };
}

/**
 * What this process may send by itself, without Redis: the rest, in equal shares. Where the burst is too small for every one of
 * them to hold what one request needs, only the first few send; else as many requests as there are processes could leave at once.
 *
 * @param least tokens of the largest request
 */
export function ownShare(route: BucketShape, view: FleetView, least = 1): BucketShape {
  if (view.place === null || view.processes < 1) return NOTHING;
  const alone = view.processes - view.onRedis;
  const rest = { rate: (route.rate * alone) / view.processes, burst: (route.burst * alone) / view.processes };
  const shares = Math.min(alone, Math.max(1, Math.floor(rest.burst / least)));
  if (view.place >= shares) return NOTHING;
  return { rate: rest.rate / shares, burst: Math.max(1, rest.burst / shares) };
}
