import type { Span } from './options.ts';
import { seededRandom } from './seeded-random.ts';

/** A whole number of milliseconds from `min` to `max`, both included. */
export function drawSpan(span: Span, seed: number, stream: string, index: number): number {
  return span.min + Math.floor(seededRandom(seed, stream, index) * (span.max - span.min + 1));
}
