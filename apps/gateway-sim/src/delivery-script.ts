import { drawSpan } from './draws.ts';
import type { GatewaySimOptions } from './options.ts';
import { seededRandom } from './seeded-random.ts';
import { stateless } from './stateless-pattern.ts';

/** Which messages: those whose number, with country code, matches a pattern; or a share of all, 0 to 1, by the seed. */
export type Which = RegExp | string | number;

/** A message as the script sees it: its number in the order of acceptance, and its recipient with country code. */
export interface ScriptedMessage {
  number: number;
  mobile: string;
}

/** A final status from its instant on, milliseconds since the epoch. */
export interface FinalWord {
  at: number;
  status: 'DELIVERED' | 'FAILED';
  cause: string;
}

interface Rule {
  applies: (message: ScriptedMessage) => boolean;
}

interface Override {
  source: string;
  pattern: RegExp;
  status: string;
  cause: string;
  since: number;
}

type Settings = Pick<GatewaySimOptions, 'seed' | 'deliveryMs' | 'failShare' | 'failMobile' | 'failCauses' | 'now'>;

/**
 * What becomes of each message after acceptance. Drawn from the seed and the message's number, so that nothing has to
 * be stored for it and a run can be repeated. Rules concern messages accepted before them as well, from that moment on;
 * of two rules of one kind the later one counts.
 */
export class DeliveryScript {
  readonly #options: Settings;
  readonly #changed: () => void;
  #overrides: Override[] = [];
  #stuck: Rule[] = [];
  #late: (Rule & { ms: number })[] = [];
  #flips: (Rule & { first: 'DELIVERED' | 'FAILED'; afterMs: number })[] = [];
  #doubled: Rule[] = [];
  #rules = 0;

  /** @param changed called after every change. */
  constructor(options: Settings, changed: () => void = () => undefined) {
    this.#options = options;
    this.#changed = changed;
  }

  /**
   * Reports say this of all numbers that match, whatever the rest of the script says; null takes it back, for the same
   * pattern. Any word may be given. What is pushed follows only DELIVERED and FAILED; other words hold the push up.
   */
  override(numbers: RegExp | string, said: { status: string; cause: string } | null): void {
    const pattern = patternOf(numbers);
    const source = String(pattern);
    this.#overrides = this.#overrides.filter((override) => override.source !== source);
    if (said !== null) this.#overrides.push({ source, pattern, ...said, since: this.#options.now() });
    this.#changed();
  }

  /** Never final: SUBMITTED for ever. @throws RangeError for a share outside of 0 to 1, as all others here. */
  stuck(which: Which): void {
    this.#stuck.push(this.#rule(which));
    this.#changed();
  }

  /** Final only this long after the message went out. @param ms milliseconds, in place of `deliveryMs`. */
  late(which: Which, ms: number): void {
    this.#late.push({ ...this.#rule(which), ms });
    this.#changed();
  }

  /**
   * Two final words that contradict each other: `first` when delivery is due, the other one from the age `afterMs` on,
   * counted from when the message went out.
   */
  flip(which: Which, { first = 'DELIVERED', afterMs }: { first?: 'DELIVERED' | 'FAILED'; afterMs: number }): void {
    this.#flips.push({ ...this.#rule(which), first, afterMs });
    this.#changed();
  }

  /** Reports have a second row with another `msgId`, as if the message had been sent twice. It is charged once. */
  doubleReport(which: Which): void {
    this.#doubled.push(this.#rule(which));
    this.#changed();
  }

  /** Forgets every rule and override. */
  clear(): void {
    this.#overrides = [];
    this.#stuck = [];
    this.#late = [];
    this.#flips = [];
    this.#doubled = [];
    this.#rules = 0;
    this.#changed();
  }

  /** The final words that a message gets, in order; none: it is never final. */
  courseOf(message: ScriptedMessage, dispatchedAt: number): FinalWord[] {
    const applies = (rule: Rule): boolean => rule.applies(message);
    if (this.#stuck.some(applies)) return [];
    const { seed, deliveryMs } = this.#options;
    const delay = this.#late.findLast(applies)?.ms ?? drawSpan(deliveryMs, seed, 'delivery', message.number);
    const at = dispatchedAt + delay;
    const flip = this.#flips.findLast(applies);
    if (flip === undefined) return [this.#word(message, at, this.#fails(message) ? 'FAILED' : 'DELIVERED')];
    const then = flip.first === 'DELIVERED' ? 'FAILED' : 'DELIVERED';
    const turnsAt = Math.max(at, dispatchedAt + flip.afterMs);
    return [this.#word(message, at, flip.first), this.#word(message, turnsAt, then)];
  }

  /** What an override says of a number, and since when; null if none does. */
  overrideOf(mobile: string): { status: string; cause: string; since: number } | null {
    return this.#overrides.findLast(({ pattern }) => pattern.test(mobile)) ?? null;
  }

  isDoubled(message: ScriptedMessage): boolean {
    return this.#doubled.some((rule) => rule.applies(message));
  }

  #fails(message: ScriptedMessage): boolean {
    const { seed, failMobile, failShare } = this.#options;
    return failMobile?.test(message.mobile) === true || seededRandom(seed, 'failure', message.number) < failShare;
  }

  #word(message: ScriptedMessage, at: number, status: FinalWord['status']): FinalWord {
    if (status === 'DELIVERED') return { at, status, cause: 'Success' };
    const { seed, failCauses } = this.#options;
    const place = Math.floor(seededRandom(seed, 'cause', message.number) * failCauses.length);
    return { at, status, cause: failCauses[place] ?? 'Unknown User' };
  }

  #rule(which: Which): Rule {
    if (typeof which !== 'number') {
      const pattern = patternOf(which);
      return { applies: ({ mobile }) => pattern.test(mobile) };
    }
    if (!(which >= 0 && which <= 1)) throw new RangeError('a share of messages lies from 0 to 1');
    // A stream of its own for each rule: two rules of half the messages are not the same half.
    const stream = `rule ${this.#rules++}`;
    return { applies: ({ number }) => seededRandom(this.#options.seed, stream, number) < which };
  }
}

function patternOf(numbers: RegExp | string): RegExp {
  return stateless(typeof numbers === 'string' ? new RegExp(numbers) : numbers);
}
