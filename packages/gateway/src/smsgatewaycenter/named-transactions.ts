import { isSentinel } from '../normalise/clean-text.ts';
import type { Envelope } from '../normalise/envelope.ts';
import type { JsonValue } from '../normalise/parse-json.ts';

/** Every value under a name that the provider uses for a transaction, at both levels, but for those that mean "none". */
export function transactionsIn({ flat, nested }: Envelope): readonly JsonValue[] {
  const levels = nested === null ? [flat] : [flat, nested];
  return levels
    .flatMap((level) => [level.transactionId, level.uuId, level.uuid])
    .filter((value) => value !== undefined)
    .filter((value) => value !== null && value !== false && !(typeof value === 'string' && isSentinel(value)));
}
