import { randomBytes } from 'node:crypto';

const LOWEST = 1_000_000_000_000_000_000n;
const SPACE_BITS = 62;
const SPACE = 1n << BigInt(SPACE_BITS);
const MULTIPLIER = 0x2545f4914f6cdd1dn;
const INVERSE = inverse(MULTIPLIER);

/**
 * Gives 19-digit ids and finds the number behind one again, by arithmetic instead of a table of millions of strings.
 * Starts at a random place, so that two runs of the simulator do not give the same ids.
 */
export class TransactionIds {
  readonly #offset = randomBytes(8).readBigUInt64BE() % SPACE;

  /** The id of the n-th request, counted from 0. */
  idOf(index: number): string {
    return (LOWEST + (((BigInt(index) + this.#offset) * MULTIPLIER) % SPACE)).toString();
  }

  /** The number of the request with this id; may lie beyond what was given out. Null when it is no id of ours. */
  indexOf(id: string): number | null {
    if (!/^\d{19}$/.test(id)) return null;
    const place = BigInt(id) - LOWEST;
    if (place < 0n || place >= SPACE) return null;
    const index = (((place * INVERSE - this.#offset) % SPACE) + SPACE) % SPACE;
    return index <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(index) : null;
  }
}

// Newton's iteration: each round doubles the number of right bits of the inverse of an odd number.
function inverse(odd: bigint): bigint {
  let result = odd;
  for (let bits = 3; bits < SPACE_BITS; bits *= 2) result = BigInt.asUintN(SPACE_BITS, result * (2n - odd * result));
  return result;
}
