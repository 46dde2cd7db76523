import type { GatewaySimOptions, Span } from './options.ts';
import { seededRandom } from './seeded-random.ts';

/** What the reports say about one message at one moment. */
export interface Delivery {
  status: 'SUBMITTED' | 'DELIVERED' | 'FAILED';
  cause: string;
  /** Milliseconds since the epoch; null while not final. */
  finalAt: number | null;
}

/**
 * The delivery of one message: drawn from the seed and the message's number, so that nothing has to be stored for it
 * and a run can be repeated.
 */
export function deliveryOf(
  message: { number: number; mobile: string },
  acceptedAt: number,
  options: Pick<GatewaySimOptions, 'seed' | 'deliveryMs' | 'failShare' | 'failMobile' | 'failCauses' | 'now'>,
): Delivery {
  const finalAt = acceptedAt + drawSpan(options.deliveryMs, options.seed, 'delivery', message.number);
  if (options.now() < finalAt) return { status: 'SUBMITTED', cause: 'Submitted', finalAt: null };
  const fails =
    options.failMobile?.test(message.mobile) === true ||
    seededRandom(options.seed, 'failure', message.number) < options.failShare;
  if (!fails) return { status: 'DELIVERED', cause: 'Success', finalAt };
  const place = Math.floor(seededRandom(options.seed, 'cause', message.number) * options.failCauses.length);
  return { status: 'FAILED', cause: options.failCauses[place] ?? 'Unknown User', finalAt };
}

/** A whole number of milliseconds from `min` to `max`, both included. */
export function drawSpan(span: Span, seed: number, stream: string, index: number): number {
  return span.min + Math.floor(seededRandom(seed, stream, index) * (span.max - span.min + 1));
}
