import { randomInt } from 'node:crypto';
import { CopyCounter } from './copy-counter.ts';
import { canonicalMobile } from './mobile-numbers.ts';
import { type Amount, formatAmount } from './money.ts';
import { NumberColumn } from './number-column.ts';
import { TextRegister } from './text-register.ts';
import { TransactionIds } from './transaction-ids.ts';

/** One message that was accepted, and so charged. */
export interface AcceptedMessage {
  /** Counted from 1 in the order of acceptance; the cursor of `accepted`. */
  number: number;
  mobile: string;
  /** SHA-256 of the text's UTF-8 bytes, hex. */
  sha256: string;
  transactionId: string;
  /** ISO 8601, UTC. */
  acceptedAt: string;
  units: number;
}

/** One request that was accepted. */
export interface Transaction {
  id: string;
  /** Milliseconds since the epoch. */
  acceptedAt: number;
  senderid: string;
  msgType: 'text' | 'unicode';
  text: string;
  units: number;
  /** Number, canonical recipient and 15-character id of each message. */
  messages: { number: number; mobile: string; msgId: string }[];
}

/** What went through the simulator since the start or the last reset. */
export interface Counts {
  /** Send requests read, whatever became of them. */
  requests: number;
  /** Messages accepted: each was charged. */
  accepted: number;
  /** Send requests answered with an error before anything was accepted. */
  refused: number;
  /** Numbers put into `invalidMobile`. */
  invalid: number;
  /** Distinct (number, text) pairs accepted. */
  distinct: number;
  /** Copies beyond the first of each pair. */
  duplicates: number;
  /** Money charged, four decimals. */
  billed: string;
  units: number;
}

/** A (number, text) pair that was accepted more than once. */
export interface Duplicate {
  mobile: string;
  sha256: string;
  copies: number;
}

export interface Acceptance {
  mobiles: string[];
  text: string;
  msgType: 'text' | 'unicode';
  senderid: string;
  units: number;
  acceptedAt: number;
  /** For one copy. */
  price: Amount;
}

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
  // By transaction.
  readonly #firstMessage = new NumberColumn();
  readonly #acceptedAt = new NumberColumn();
  readonly #textOf = new NumberColumn();
  readonly #unitsOf = new NumberColumn();
  readonly #senderOf = new NumberColumn();
  readonly #unicode = new NumberColumn();
  #billed: Amount = 0n;
  #units = 0;
  requests = 0;
  refused = 0;
  invalid = 0;

  constructor(keepTexts: number) {
    this.#texts = new TextRegister(keepTexts);
  }

  get billed(): Amount {
    return this.#billed;
  }

  /** Enters one accepted request and charges it. Answers its transaction id. */
  accept(acceptance: Acceptance): string {
    const transaction = this.#acceptedAt.length;
    const text = this.#texts.register(acceptance.text);
    this.#firstMessage.push(this.#mobiles.length);
    this.#acceptedAt.push(acceptance.acceptedAt);
    this.#textOf.push(text);
    this.#unitsOf.push(acceptance.units);
    this.#senderOf.push(this.#senderNumber(acceptance.senderid));
    this.#unicode.push(acceptance.msgType === 'unicode' ? 1 : 0);
    for (const mobile of acceptance.mobiles) {
      const digits = Number(mobile);
      this.#mobiles.push(digits);
      this.#transactionOf.push(transaction);
      this.#copies.add(digits, text);
    }
    this.#billed += acceptance.price * BigInt(acceptance.mobiles.length);
    this.#units += acceptance.units * acceptance.mobiles.length;
    return this.#ids.idOf(transaction);
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
  accepted(after = 0, limit = 1000): AcceptedMessage[] {
    const messages: AcceptedMessage[] = [];
    for (let index = after; index < Math.min(after + limit, this.#mobiles.length); index++) {
      const transaction = this.#transactionOf.at(index);
      messages.push({
        number: index + 1,
        mobile: String(this.#mobiles.at(index)),
        sha256: this.#texts.sha256(this.#textOf.at(transaction)),
        transactionId: this.#ids.idOf(transaction),
        acceptedAt: new Date(this.#acceptedAt.at(transaction)).toISOString(),
        units: this.#unitsOf.at(transaction),
      });
    }
    return messages;
  }

  /** The request with this id, or null if it was never accepted here. */
  transaction(id: string): Transaction | null {
    const index = this.#ids.indexOf(id);
    if (index === null || index >= this.#acceptedAt.length) return null;
    const first = this.#firstMessage.at(index);
    const end = index + 1 < this.#firstMessage.length ? this.#firstMessage.at(index + 1) : this.#mobiles.length;
    const messages = [];
    for (let message = first; message < end; message++) {
      const msgId = `${this.#run}${(message + 1).toString(36).padStart(8, '0')}`;
      messages.push({ number: message + 1, mobile: String(this.#mobiles.at(message)), msgId });
    }
    return {
      id,
      acceptedAt: this.#acceptedAt.at(index),
      senderid: this.#senderNames[this.#senderOf.at(index)] ?? '',
      msgType: this.#unicode.at(index) === 1 ? 'unicode' : 'text',
      text: this.#texts.text(this.#textOf.at(index)),
      units: this.#unitsOf.at(index),
      messages,
    };
  }

  #senderNumber(senderid: string): number {
    const known = this.#senders.get(senderid);
    if (known !== undefined) return known;
    this.#senders.set(senderid, this.#senderNames.length);
    return this.#senderNames.push(senderid) - 1;
  }
}
