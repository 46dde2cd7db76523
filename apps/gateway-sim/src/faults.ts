import { assertShares, type FaultName, type FaultShares, type OutageName } from './fault-names.ts';
import type { ListeningPort } from './listening-port.ts';
import { seededRandom } from './seeded-random.ts';
import { stateless } from './stateless-pattern.ts';

interface Scripted {
  fault: FaultName;
  left: number;
}

interface NumberRule {
  pattern: RegExp;
  fault: FaultName;
}

/**
 * Decides what goes wrong. For a send request the first of these that applies counts: the script ("the next three do
 * X"), a rule on one of its numbers, the seeded share. An outage comes before all and concerns every call.
 */
export class Faults {
  readonly #seed: number;
  readonly #initialShares: FaultShares;
  #shares: FaultShares;
  #script: Scripted[] = [];
  #rules: NumberRule[] = [];
  #drawn = 0;
  readonly #held = new Set<() => void>();
  readonly #heldListeners = new Set<() => void>();
  /** What every call does at present; null when the service is up. */
  outage: OutageName | null = null;
  #port: ListeningPort | null = null;

  constructor(seed: number, shares: FaultShares) {
    assertShares(shares);
    this.#seed = seed;
    this.#initialShares = shares;
    this.#shares = shares;
  }

  /** The next `count` send requests do this; calls queue up behind one another. */
  next(fault: FaultName, count = 1): void {
    this.#script.push({ fault, left: count });
  }

  /** Send requests with a number (with country code) that matches do this. */
  forNumber(pattern: RegExp | string, fault: FaultName): void {
    this.#rules.push({ pattern: stateless(typeof pattern === 'string' ? new RegExp(pattern) : pattern), fault });
  }

  /** From now on this share of the send requests does this. @throws RangeError when the shares exceed 1. */
  share(shares: FaultShares): void {
    assertShares(shares);
    this.#shares = shares;
  }

  /**
   * The outage `refuse-connections`: resolves when the port is shut and every connection is cut, so that clients get
   * ECONNREFUSED. Control endpoints are shut as well.
   */
  closePort(): Promise<void> {
    return this.#portInUse().close();
  }

  /** Ends that outage on the same port. @throws the system's error when somebody else has taken it. */
  openPort(): Promise<void> {
    return this.#portInUse().open();
  }

  /** That outage for this many milliseconds. Resolves when it is over. */
  refuseConnections(ms: number): Promise<void> {
    return this.#portInUse().closeFor(ms);
  }

  /** Called once the simulator listens. */
  usePort(port: ListeningPort): void {
    this.#port = port;
  }

  #portInUse(): ListeningPort {
    if (this.#port === null) throw new Error('the simulator does not listen yet');
    return this.#port;
  }

  /**
   * Back to the start: no script, no rules, no outage, the shares of the start and their draws from the beginning. A
   * port that was closed stays so until `openPort`.
   */
  clear(): void {
    this.#shares = this.#initialShares;
    this.#script = [];
    this.#rules = [];
    this.#drawn = 0;
    this.outage = null;
  }

  /** How many replies are held at present. */
  get held(): number {
    return this.#held.size;
  }

  /** Lets every held reply go. Answers how many there were. */
  release(): number {
    const waiting = [...this.#held];
    for (const letGo of waiting) letGo();
    return waiting.length;
  }

  /** Resolves as soon as at least `count` replies are held. */
  async untilHeld(count = 1): Promise<void> {
    while (this.#held.size < count) {
      await new Promise<void>((resolve) => this.#heldListeners.add(resolve));
    }
  }

  /** Waits for `release`, or for `gone` (the client left). */
  hold(gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const letGo = (): void => {
        gone.removeEventListener('abort', letGo);
        this.#held.delete(letGo);
        resolve();
      };
      if (gone.aborted) return resolve();
      gone.addEventListener('abort', letGo);
      this.#held.add(letGo);
      for (const listener of this.#heldListeners) listener();
      this.#heldListeners.clear();
    });
  }

  /** What the present send request does; null: nothing goes wrong. @param mobiles with country code where possible. */
  pick(mobiles: readonly string[]): FaultName | null {
    const scripted = this.#script[0];
    if (scripted !== undefined) {
      scripted.left--;
      if (scripted.left <= 0) this.#script.shift();
      return scripted.fault;
    }
    const rule = this.#rules.find(({ pattern }) => mobiles.some((mobile) => pattern.test(mobile)));
    return rule?.fault ?? this.#draw();
  }

  #draw(): FaultName | null {
    const drawn = seededRandom(this.#seed, 'fault', this.#drawn++);
    let reached = 0;
    for (const [fault, share] of Object.entries(this.#shares) as [FaultName, number][]) {
      reached += share;
      if (drawn < reached) return fault;
    }
    return null;
  }
}
