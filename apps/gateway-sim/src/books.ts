import type { Amount } from './money.ts';
import type { Schedule } from './schedules.ts';

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
  /** What this copy was charged at acceptance, four decimals; a refund does not change it. */
  charge: string;
}

/** What all messages of one accepted request have in common. Instants are milliseconds since the epoch. */
export interface TransactionHead {
  id: string;
  acceptedAt: number;
  /** When it goes out, or did: at acceptance, or by its schedule. */
  dispatchedAt: number;
  /** Its schedule, where it has one. */
  schedule: Schedule | null;
  senderid: string;
  msgType: 'text' | 'unicode';
  text: string;
  units: number;
}

/** One accepted message as reports know it. */
export interface LoggedMessage {
  /** Counted from 1 in the order of acceptance. */
  number: number;
  mobile: string;
  /** 15 characters. */
  msgId: string;
  /** The id of a second row, for a report that shows this message as if it had been sent twice. */
  secondMsgId: string;
}

/** One request that was accepted. */
export interface Transaction extends TransactionHead {
  messages: LoggedMessage[];
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
  /** Money charged less money given back, four decimals. */
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
  /** Milliseconds since the epoch, never before that of an earlier acceptance. */
  acceptedAt: number;
  /** When it is to go out; absent or null: at once. */
  scheduledAt?: number | null;
  /** For one copy. */
  price: Amount;
}
