import type { FinalWord } from './delivery-script.ts';
import { DueQueue } from './due-queue.ts';
import { httpUrl, type Receipt, writeReceipt } from './push-receipt.ts';
import { seededRandom } from './seeded-random.ts';
import type { Simulation } from './simulation.ts';

const MOST_IN_FLIGHT = 64;
const ANSWER_WITHIN_MS = 10_000;
// A clock that a test moves by hand is looked at this often; also how much a late timer may catch up.
const LOOK_EVERY_MS = 50;

/** What became of the receipts since the start or the last reset; a duplicate counts like any other. */
export interface PushCounts {
  /** Answered with 200. */
  delivered: number;
  /** Given up after all tries, or because pushing was switched off between two of them. */
  failed: number;
  /** Never pushed, by the fault `lose`. */
  lost: number;
  /** Not due yet, due, on the way, or waiting for another try; without those of messages that are never final. */
  pending: number;
}

/** What goes wrong with receipts. */
export interface PushFaults {
  /** Share that is never pushed, 0 to 1. */
  lose: number;
  /** Share that is pushed twice, 0 to 1. */
  duplicate: number;
  /** Each comes later by up to this many milliseconds, drawn. */
  shuffleMs: number;
}

interface Waiting {
  /** Counted from 0. */
  message: number;
  /** Which of the message's final words: 0 the first. */
  word: number;
  repeat: boolean;
  tries: number;
  /** By the simulation's clock; infinite while nothing final is in sight. */
  dueAt: number;
}

/** Posts a receipt for every final word of every message, at most `pushRate` a second, in the order in which they fall due. */
export class Push {
  readonly #simulation: Simulation;
  readonly #queue = new DueQueue<Waiting>();
  readonly #retries = new Map<NodeJS.Timeout, Waiting>();
  #url: string | null;
  #faults: PushFaults;
  #counts = { delivered: 0, failed: 0, lost: 0 };
  #inFlight = 0;
  #nextSlot = 0;
  #timer: NodeJS.Timeout | null = null;
  // What belongs to an earlier generation was switched off and counts no more.
  #generation = new AbortController();
  #closed = false;
  #settled: (() => void)[] = [];

  /** @throws RangeError for a URL that is not http or shares that make no sense. */
  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    const { pushUrl } = simulation.options;
    this.#url = pushUrl === null ? null : httpUrl(pushUrl);
    this.#faults = initialFaults(simulation);
    assertFaults(this.#faults);
  }

  /**
   * From now on receipts go to this URL, also those of messages accepted before that are not final yet. Null switches
   * pushing off: what waits is dropped, and what becomes final meanwhile is never pushed.
   * @throws RangeError for a text that is no http URL.
   */
  to(url: string | null): void {
    const wasOff = this.#url === null;
    this.#url = url === null ? null : httpUrl(url);
    if (url === null) this.#drop();
    else if (wasOff) this.#enqueueWhatIsOpen();
    this.#look();
  }

  /** From now on this goes wrong; what is left out stays as it is. @throws RangeError for a share outside of 0 to 1. */
  faults(change: Partial<PushFaults>): void {
    const faults = { ...this.#faults, ...change };
    assertFaults(faults);
    this.#faults = faults;
    this.replan();
  }

  counts(): PushCounts {
    return { ...this.#counts, pending: this.#queue.pending + this.#inFlight + this.#retries.size };
  }

  /** Resolves when nothing is waiting, on the way, or not due yet; at once when that is so already. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#settled.push(resolve);
      this.#tellSettled();
    });
  }

  /** Takes in messages that were just accepted. @param first counted from 0. */
  accepted(first: number, count: number): void {
    if (this.#url === null || this.#closed) return;
    for (let message = first; message < first + count; message++) this.#enqueue(message, 0);
    this.#look();
  }

  /** Looks again when everything that waits is due: the script, a schedule or the faults were changed. */
  replan(): void {
    for (const waiting of this.#queue.drain()) {
      this.#queue.push({ ...waiting, dueAt: this.#dueAt(waiting) });
    }
    this.#look();
  }

  /** Back to the settings of the start, with nothing waiting and nothing counted. */
  reset(): void {
    const { pushUrl } = this.#simulation.options;
    this.#drop();
    this.#url = pushUrl === null ? null : httpUrl(pushUrl);
    this.#faults = initialFaults(this.#simulation);
    this.#counts = { delivered: 0, failed: 0, lost: 0 };
    this.#look();
  }

  /** Ends everything that is on the way. */
  close(): void {
    this.#closed = true;
    this.#drop();
    this.#look();
  }

  #drop(): void {
    this.#generation.abort();
    this.#generation = new AbortController();
    this.#counts.failed += this.#retries.size + this.#inFlight;
    this.#inFlight = 0;
    for (const timer of this.#retries.keys()) clearTimeout(timer);
    this.#retries.clear();
    this.#queue.drain();
  }

  #enqueueWhatIsOpen(): void {
    const { log, delivery, options } = this.#simulation;
    const now = options.now();
    for (let message = 0; message < log.length; message++) {
      const course = delivery.courseOf(log.message(message), log.dispatchedAt(message));
      const word = course.findIndex(({ at }) => at > now);
      if (word !== -1 || course.length === 0) this.#enqueue(message, Math.max(word, 0));
    }
  }

  #enqueue(message: number, word: number, repeat = false): void {
    const waiting = { message, word, repeat, tries: 0, dueAt: 0 };
    this.#queue.push({ ...waiting, dueAt: this.#dueAt(waiting) });
  }

  #dueAt(waiting: Waiting): number {
    if (waiting.tries > 0) return waiting.dueAt;
    const word = this.#wordOf(waiting);
    return word === null ? Number.POSITIVE_INFINITY : word.at + this.#draw('shuffle', waiting) * this.#faults.shuffleMs;
  }

  /** The final word to push; null while there is none. */
  #wordOf({ message, word }: Waiting): FinalWord | null {
    const { log, delivery } = this.#simulation;
    const { schedule, dispatchedAt } = log.headOf(message);
    if (schedule !== null && schedule.cancelledAt !== null) return null;
    const logged = log.message(message);
    const final = delivery.courseOf(logged, dispatchedAt)[word];
    if (final === undefined) return null;
    const override = delivery.overrideOf(logged.mobile);
    if (override === null) return final;
    const { status, cause } = override;
    return status === 'DELIVERED' || status === 'FAILED' ? { at: final.at, status, cause } : null;
  }

  #draw(stream: string, { message, word, repeat }: Waiting): number {
    return seededRandom(this.#simulation.options.seed, `push ${stream} ${word} ${repeat}`, message);
  }

  /** Pushes what is due and may go, and sets the timer for what comes next. */
  #look(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (!this.#closed) this.#pushWhatIsDue();
    this.#tellSettled();
    const first = this.#queue.first;
    // With everything on the way that may be, the next answer looks again.
    if (first === undefined || first.dueAt === Number.POSITIVE_INFINITY || this.#inFlight >= MOST_IN_FLIGHT) return;
    const wait = Math.max(first.dueAt - this.#simulation.options.now(), this.#nextSlot - performance.now(), 1);
    this.#timer = setTimeout(() => this.#look(), Math.min(wait, LOOK_EVERY_MS)).unref();
  }

  #pushWhatIsDue(): void {
    const now = this.#simulation.options.now();
    const clock = performance.now();
    while (this.#inFlight < MOST_IN_FLIGHT && this.#nextSlot <= clock) {
      const waiting = this.#queue.first;
      if (waiting === undefined || waiting.dueAt > now) return;
      this.#queue.pop();
      const word = this.#wordOf(waiting);
      if (word === null) {
        this.#queue.push({ ...waiting, dueAt: Number.POSITIVE_INFINITY });
      } else if (waiting.tries === 0 && !waiting.repeat && this.#draw('lose', waiting) < this.#faults.lose) {
        this.#counts.lost++;
        this.#enqueueNextWord(waiting);
      } else {
        this.#nextSlot = Math.max(this.#nextSlot, clock - LOOK_EVERY_MS) + 1000 / this.#simulation.options.pushRate;
        if (waiting.tries === 0 && !waiting.repeat) this.#enqueueFollowers(waiting);
        void this.#post(waiting, word);
      }
    }
  }

  #enqueueFollowers(waiting: Waiting): void {
    if (this.#draw('duplicate', waiting) < this.#faults.duplicate) this.#enqueue(waiting.message, waiting.word, true);
    this.#enqueueNextWord(waiting);
  }

  #enqueueNextWord({ message, word }: Waiting): void {
    const { log, delivery } = this.#simulation;
    const course = delivery.courseOf(log.message(message), log.dispatchedAt(message));
    if (course.length > word + 1) this.#enqueue(message, word + 1);
  }

  async #post(waiting: Waiting, word: FinalWord): Promise<void> {
    const { log, clock, options } = this.#simulation;
    const { signal } = this.#generation;
    this.#inFlight++;
    const receipt = writeReceipt(log.headOf(waiting.message), log.message(waiting.message), word, clock, options);
    const taken = await isTaken(this.#url ?? '', receipt, signal);
    if (signal.aborted) return;
    this.#inFlight--;
    if (taken) this.#counts.delivered++;
    else if (waiting.tries + 1 >= options.pushTries) this.#counts.failed++;
    else this.#retryLater(waiting);
    this.#look();
  }

  #retryLater(waiting: Waiting): void {
    const { options } = this.#simulation;
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.#queue.push({ ...waiting, tries: waiting.tries + 1, dueAt: options.now() });
      this.#look();
    }, options.pushRetryMs).unref();
    this.#retries.set(timer, waiting);
  }

  #tellSettled(): void {
    const waits = (this.#queue.first?.dueAt ?? Number.POSITIVE_INFINITY) < Number.POSITIVE_INFINITY;
    if (waits || this.#inFlight > 0 || this.#retries.size > 0) return;
    for (const resolve of this.#settled.splice(0)) resolve();
  }
}

async function isTaken(url: string, { contentType, body }: Receipt, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': contentType },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
    });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}

function initialFaults({ options }: Simulation): PushFaults {
  return { lose: options.pushLose, duplicate: options.pushDuplicate, shuffleMs: options.pushShuffleMs };
}

function assertFaults({ lose, duplicate, shuffleMs }: PushFaults): void {
  if (![lose, duplicate].every((share) => share >= 0 && share <= 1)) {
    throw new RangeError('a share of receipts lies from 0 to 1');
  }
  if (!(shuffleMs >= 0)) throw new RangeError('a delay of receipts is not negative');
}
