import { randomInt } from 'node:crypto';
import type {
  Acceptance,
  AcceptedMessage,
  Counts,
  Duplicate,
  LoggedMessage,
  Transaction,
  TransactionHead,
} from './books.ts';
import { CopyCounter } from './copy-counter.ts';
import { MobileIndex } from './mobile-index.ts';
import { canonicalMobile } from './mobile-numbers.ts';
import { type Amount, formatAmount } from './money.ts';
import { NumberColumn } from './number-column.ts';
import { goesOutAt, type Schedule, Schedules } from './schedules.ts';
import { TextRegister } from './text-register.ts';
import { TransactionIds } from './transaction-ids.ts';

/** The simulator's own books: what it accepted and charged. Holds a hash of each text and a few numbers a message. */
export class SendLog {
  readonly #ids = new TransactionIds();
  // New at each start, so that two runs do not give the same message ids.
  readonly #run = randomInt(2 ** 31, 2 ** 35)
    .toString(36)
    .padStart(7, '0');
  readonly #texts: TextRegister;
  readonly #copies = new CopyCounter();
  readonly #senders = new Map<string, number>();
  readonly #senderNames: string[] = [];
  // By message.
  readonly #mobiles = new NumberColumn();
  readonly #transactionOf = new NumberColumn();
  // Filled up when somebody asks by number: a load test that never does so pays nothing for it.
  readonly #byMobile = new MobileIndex();
  // By transaction.
  readonly #firstMessage = new NumberColumn();
  readonly #acceptedAt = new NumberColumn();
  readonly #textOf = new NumberColumn();
  readonly #unitsOf = new NumberColumn();
  readonly #senderOf = new NumberColumn();
  readonly #unicode = new NumberColumn();
  readonly #priceOf = new NumberColumn();
  readonly #schedules: Schedules;
  readonly #scheduleOf = new Map<number, Schedule>();
  #billed: Amount = 0n;
  #units = 0;
  requests = 0;
  refused = 0;
  invalid = 0;

  /** @param schedules where a send for later is listed. */
  constructor(keepTexts: number, schedules: Schedules = new Schedules()) {
    this.#texts = new TextRegister(keepTexts);
    this.#schedules = schedules;
  }

  /** How many messages were accepted. */
  get length(): number {
    return this.#mobiles.length;
  }

  get billed(): Amount {
    return this.#billed;
  }

  /** Enters one accepted request and charges it. Answers its transaction id. */
  accept(acceptance: Acceptance): string {
    const transaction = this.#acceptedAt.length;
    const text = this.#texts.register(acceptance.text);
    this.#firstMessage.push(this.#mobiles.length);
    // Days are found by halving, so a clock that steps back must not bring the list out of order.
    const acceptedAt = Math.max(acceptance.acceptedAt, transaction === 0 ? 0 : this.#acceptedAt.at(transaction - 1));
    this.#acceptedAt.push(acceptedAt);
    this.#textOf.push(text);
    this.#unitsOf.push(acceptance.units);
    this.#senderOf.push(this.#senderNumber(acceptance.senderid));
    this.#unicode.push(acceptance.msgType === 'unicode' ? 1 : 0);
    this.#priceOf.push(Number(acceptance.price));
    for (const mobile of acceptance.mobiles) {
      const digits = Number(mobile);
      this.#mobiles.push(digits);
      this.#transactionOf.push(transaction);
      this.#copies.add(digits, text);
    }
    this.#billed += acceptance.price * BigInt(acceptance.mobiles.length);
    this.#units += acceptance.units * acceptance.mobiles.length;
    const id = this.#ids.idOf(transaction);
    const { scheduledAt = null } = acceptance;
    if (scheduledAt !== null && acceptance.mobiles.length > 0) {
      this.#schedules.add({ uuId: id, total: acceptance.mobiles.length, createdAt: acceptedAt, scheduledAt });
      const schedule = this.#schedules.find(id);
      if (schedule !== null) this.#scheduleOf.set(transaction, schedule);
    }
    return id;
  }

  /** Gives the charge of a transaction back; of one that is unknown here there is none. */
  refund(id: string): void {
    const transaction = this.#indexOf(id);
    if (transaction === null) return;
    const copies = this.#endOf(transaction) - this.#firstMessage.at(transaction);
    this.#billed -= BigInt(this.#priceOf.at(transaction)) * BigInt(copies);
  }

  counts(): Counts {
    return {
      requests: this.requests,
      accepted: this.#mobiles.length,
      refused: this.refused,
      invalid: this.invalid,
      distinct: this.#copies.pairs,
      duplicates: this.#mobiles.length - this.#copies.pairs,
      billed: formatAmount(this.#billed),
      units: this.#units,
    };
  }

  /** How many copies of this text were accepted for this number, in whatever form the number is written. */
  copies(mobile: string, text: string): number {
    const canonical = canonicalMobile(mobile);
    const known = this.#texts.find(text);
    return canonical === null || known === null ? 0 : this.#copies.copies(Number(canonical), known);
  }

  /** Pairs accepted more than once: how many there are, and the first `limit` of them. */
  duplicates(limit = 100): { pairs: number; extraCopies: number; list: Duplicate[] } {
    let pairs = 0;
    let extraCopies = 0;
    const list: Duplicate[] = [];
    for (const { mobile, text, copies } of this.#copies.duplicates()) {
      pairs++;
      extraCopies += copies - 1;
      if (list.length < limit) list.push({ mobile: String(mobile), sha256: this.#texts.sha256(text), copies });
    }
    return { pairs, extraCopies, list };
  }

  /** Accepted messages with a number above `after`, oldest first. */
  accepted(after?: number, limit?: number): AcceptedMessage[];
  /** Everything accepted for one number, in whatever form it is written, oldest first: its bill. */
  accepted(of: { mobile: string }): AcceptedMessage[];
  accepted(asked: number | { mobile: string } = 0, limit = 1000): AcceptedMessage[] {
    if (typeof asked === 'object')
      return this.messagesOf(asked.mobile).map((message) => this.#acceptedMessage(message));
    const messages: AcceptedMessage[] = [];
    for (let index = asked; index < Math.min(asked + limit, this.#mobiles.length); index++) {
      messages.push(this.#acceptedMessage(index));
    }
    return messages;
  }

  /** The request with this id, or null if it was never accepted here. */
  transaction(id: string): Transaction | null {
    const index = this.#indexOf(id);
    if (index === null) return null;
    const messages = [];
    for (let message = this.#firstMessage.at(index); message < this.#endOf(index); message++) {
      messages.push(this.message(message));
    }
    return { ...this.#head(index), messages };
  }

  /** One message. @param index counted from 0. @throws RangeError for one that was never accepted. */
  message(index: number): LoggedMessage {
    const place = (index + 1).toString(36);
    return {
      number: index + 1,
      mobile: String(this.#mobiles.at(index)),
      msgId: `${this.#run}${place.padStart(8, '0')}`,
      secondMsgId: `${this.#run}z${place.padStart(7, '0')}`,
    };
  }

  /** What a message has in common with the others of its request. @param index counted from 0. */
  headOf(index: number): TransactionHead {
    return this.#head(this.#transactionOf.at(index));
  }

  /** When a message goes out, or did. @param index counted from 0. */
  dispatchedAt(index: number): number {
    const transaction = this.#transactionOf.at(index);
    const schedule = this.#scheduleOf.get(transaction);
    return schedule === undefined ? this.#acceptedAt.at(transaction) : goesOutAt(schedule);
  }

  /** The messages of one number in whatever form it is written, counted from 0, oldest first. */
  messagesOf(mobile: string): number[] {
    while (this.#byMobile.length < this.#mobiles.length) this.#byMobile.push(this.#mobiles.at(this.#byMobile.length));
    const canonical = canonicalMobile(mobile);
    return canonical === null ? [] : this.#byMobile.messagesOf(Number(canonical));
  }

  /**
   * The messages that went out from one instant until before another, counted from 0, in the order of acceptance.
   * Begins at `first` and finds its place by halving, so that a page costs what it holds.
   */
  *messagesBetween(from: number, until: number, first = 0): Generator<number> {
    const scheduled = this.#scheduledBetween(from, until, first);
    let next = 0;
    const end = this.#firstAcceptedAt(until);
    for (let message = Math.max(first, this.#firstAcceptedAt(from)); message < end; message++) {
      for (let waiting = scheduled[next]; waiting !== undefined && waiting < message; waiting = scheduled[next]) {
        yield waiting;
        next++;
      }
      if (!this.#scheduleOf.has(this.#transactionOf.at(message))) yield message;
    }
    yield* scheduled.slice(next);
  }

  #scheduledBetween(from: number, until: number, first: number): number[] {
    const messages: number[] = [];
    for (const [transaction, schedule] of this.#scheduleOf) {
      const at = goesOutAt(schedule);
      if (at < from || at >= until) continue;
      const end = this.#endOf(transaction);
      for (let message = Math.max(first, this.#firstMessage.at(transaction)); message < end; message++) {
        messages.push(message);
      }
    }
    return messages;
  }

  /** The first message accepted at this instant or later; the number of all when there is none. */
  #firstAcceptedAt(at: number): number {
    let [low, high] = [0, this.#acceptedAt.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#acceptedAt.at(middle) < at) low = middle + 1;
      else high = middle;
    }
    return low < this.#firstMessage.length ? this.#firstMessage.at(low) : this.#mobiles.length;
  }

  #indexOf(id: string): number | null {
    const index = this.#ids.indexOf(id);
    return index === null || index >= this.#acceptedAt.length ? null : index;
  }

  /** The message after the last one of a transaction. */
  #endOf(transaction: number): number {
    const following = transaction + 1;
    return following < this.#firstMessage.length ? this.#firstMessage.at(following) : this.#mobiles.length;
  }

  #head(transaction: number): TransactionHead {
    const acceptedAt = this.#acceptedAt.at(transaction);
    const schedule = this.#scheduleOf.get(transaction) ?? null;
    return {
      id: this.#ids.idOf(transaction),
      acceptedAt,
      dispatchedAt: schedule === null ? acceptedAt : goesOutAt(schedule),
      schedule,
      senderid: this.#senderNames[this.#senderOf.at(transaction)] ?? '',
      msgType: this.#unicode.at(transaction) === 1 ? 'unicode' : 'text',
      text: this.#texts.text(this.#textOf.at(transaction)),
      units: this.#unitsOf.at(transaction),
    };
  }

  #acceptedMessage(index: number): AcceptedMessage {
    const transaction = this.#transactionOf.at(index);
    return {
      number: index + 1,
      mobile: String(this.#mobiles.at(index)),
      sha256: this.#texts.sha256(this.#textOf.at(transaction)),
      transactionId: this.#ids.idOf(transaction),
      acceptedAt: new Date(this.#acceptedAt.at(transaction)).toISOString(),
      units: this.#unitsOf.at(transaction),
      charge: formatAmount(BigInt(this.#priceOf.at(transaction))),
    };
  }

  #senderNumber(senderid: string): number {
    const known = this.#senders.get(senderid);
    if (known !== undefined) return known;
    this.#senders.set(senderid, this.#senderNames.length);
    return this.#senderNames.push(senderid) - 1;
  }
}
