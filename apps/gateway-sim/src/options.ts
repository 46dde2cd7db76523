import type { FaultShares } from './fault-names.ts';

/** A span of milliseconds from which a delay is drawn. */
export interface Span {
  min: number;
  max: number;
}

/** How a day report writes its times. */
export type DlrTimes = 'text' | 'epoch-ms' | 'epoch-s' | 'long-text';

/** How the simulated provider behaves. Every field has a default. */
export interface GatewaySimOptions {
  /** TCP port; 0 takes a free one. Default 0 for `startGatewaySim`, 8600 on the command line. */
  port: number;
  /** Default 127.0.0.1. */
  host: string;
  userid: string;
  password: string;
  apiKey: string;
  /** Price of one segment, a decimal with at most four decimals. */
  pricePerSegment: string;
  currency: string;
  /** Money on the account, a decimal; a send that costs more is refused. Null: endless. */
  balance: string | null;
  /** Seeds every draw: faults by share, delays, delivery results. */
  seed: number;
  /** Share of send requests by fault, each 0 to 1, together at most 1. */
  faults: FaultShares;
  /** Numbers matching this, with country code, come back in `invalidMobile`. */
  invalidMobile: RegExp | null;
  /** Write `invalidMobile` as the numbers were sent, or with country code. */
  invalidMobileForm: 'sent' | 'canonical';
  /** Time from acceptance to the final delivery status. */
  deliveryMs: Span;
  /** Share of messages that end FAILED, 0 to 1. */
  failShare: number;
  /** Numbers matching this, with country code, end FAILED. */
  failMobile: RegExp | null;
  /** Causes of failures, drawn from in turn. */
  failCauses: readonly string[];
  /** How long after acceptance a message is missing from reports. */
  visibilityLagMs: number;
  /** Reports forget a message this many days after it went out. Null: never. */
  retentionDays: number | null;
  /** IANA zone of every time the provider writes or reads. */
  zone: string;
  /** How far the provider's clock is ahead of the true one; negative: behind. */
  clockSkewMs: number;
  /** Write `uuId`, the transaction id, into the rows of `getDlr`. */
  dlrTxnIds: boolean;
  dlrTimes: DlrTimes;
  /** Give the charge back when a schedule is deleted. */
  refundCancelled: boolean;
  /** A deleted schedule vanishes from the list; false: it stays there as deleted. */
  forgetDeleted: boolean;
  /** How long the answer to a send takes. */
  latencyMs: Span;
  /** How many bytes of the body `truncate-reply` lets through. */
  truncateBytes: number;
  /** How long `accept-slow-first-byte` waits. */
  slowMs: number;
  /** Where receipts are pushed to. Null: nowhere. */
  pushUrl: string | null;
  /** Names and encoding of a pushed receipt. */
  pushFields: 'portal' | 'legacy';
  /** Most receipts pushed in one second. */
  pushRate: number;
  /** Pause before a receipt that was not answered with 200 is pushed again. */
  pushRetryMs: number;
  /** How often a receipt is pushed before it is given up. */
  pushTries: number;
  /** Share of receipts that are never pushed. */
  pushLose: number;
  /** Share of receipts that are pushed twice. */
  pushDuplicate: number;
  /** Each receipt comes later by up to this, drawn, so that they overtake one another. */
  pushShuffleMs: number;
  /** Serve JSON as `text/html`. */
  jsonAsHtml: boolean;
  /** Write transaction ids without quotes, as numbers that lose digits in a careless reader. */
  unquotedIds: boolean;
  /** Write `statusCode` and `code` without quotes. */
  unquotedCodes: boolean;
  /** Add `msgId: ""` and `requestTime` to the answer of a send. */
  sendExtras: boolean;
  listKey: 'report_statusList' | 'reports_statusList';
  /** How many distinct texts are kept so that reports can quote them; of the others only a hash is known. */
  keepTexts: number;
  /** The present time in milliseconds since the epoch. */
  now: () => number;
}

export const DEFAULT_OPTIONS: GatewaySimOptions = {
  port: 0,
  host: '127.0.0.1',
  userid: 'demo',
  password: 'demopassword',
  apiKey: 'demokey',
  pricePerSegment: '0.1200',
  currency: 'INR',
  balance: null,
  seed: 1,
  faults: {},
  invalidMobile: null,
  invalidMobileForm: 'sent',
  deliveryMs: { min: 0, max: 0 },
  failShare: 0,
  failMobile: null,
  failCauses: ['Unknown User', 'Absent subscriber', 'DND', 'Inbox Full', 'Network Error'],
  visibilityLagMs: 0,
  retentionDays: null,
  zone: 'Asia/Kolkata',
  clockSkewMs: 0,
  dlrTxnIds: true,
  dlrTimes: 'text',
  refundCancelled: false,
  forgetDeleted: false,
  latencyMs: { min: 0, max: 0 },
  truncateBytes: 20,
  slowMs: 3_000,
  pushUrl: null,
  pushFields: 'portal',
  pushRate: 10_000,
  pushRetryMs: 1_000,
  pushTries: 5,
  pushLose: 0,
  pushDuplicate: 0,
  pushShuffleMs: 0,
  jsonAsHtml: true,
  unquotedIds: false,
  unquotedCodes: false,
  sendExtras: true,
  listKey: 'report_statusList',
  keepTexts: 10_000,
  now: Date.now,
};
