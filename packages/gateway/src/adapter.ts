import type { AccountAnswer } from './account-answer.ts';
import type { DayAnswer, DayQuestion, DayReader } from './day-report.ts';
import type { DaysAnswer, DaysQuestion } from './days-answer.ts';
import type { Outcome } from './outcome.ts';
import type { PushAnswer, PushRequest } from './push.ts';
import type { ProviderRecord, RecordStatus, ReportAnswer } from './report-answer.ts';
import type { ScheduleChangeAnswer } from './schedule-change.ts';
import type { SchedulesAnswer } from './schedules-answer.ts';
import type { SendBudget } from './send-budget.ts';

/**
 * What a provider can do. The core decides from this and never from a provider's name.
 */
export interface Capabilities {
  /** Largest number of recipients in one request. */
  readonly maxRecipients: number;
  readonly idFor: 'request' | 'recipient' | 'none';
  /** What the provider does with a reference of ours: nothing, give it back, or refuse a repeat of it. */
  readonly clientRef: 'none' | 'echo' | 'dedupe';
  readonly lookup: {
    readonly byTxn: boolean;
    readonly byRecipientWindow: boolean;
    /** There is a report of a whole day of the account, in one answer. */
    readonly byDay: boolean;
    /**
     * Reading a report of many messages removes it at the provider, so that a read whose answer was lost cannot be made good by
     * another one: one reader at a time, and what it may have cost is asked for by id.
     */
    readonly destructive: boolean;
  };
  readonly push: {
    readonly perMessageUrl: boolean;
    readonly signed: boolean;
    /** A push may move a row by itself. False: anybody could have made it, so it wakes a poll and decides nothing. */
    readonly trusted: boolean;
  };
  readonly schedule: {
    readonly supported: boolean;
    readonly cancel: boolean;
    readonly precision: 'second' | 'minute' | 'none';
    readonly param: string | null;
  };
  /**
   * Whether a send can carry its own expiry, and under which name. Not supported: the provider tries for as long as it
   * likes, and `validUntil` is kept by us alone, before the send.
   */
  readonly validity: {
    readonly supported: boolean;
    readonly param: string | null;
  };
  /** A success may name recipients that were refused. */
  readonly partialRefusal: boolean;
  /**
   * Which bodies go out, and are billed, at one byte a character: the GSM 03.38 alphabet, or ASCII alone. Segments must
   * be counted by this rule, since the bill follows the type that was sent.
   */
  readonly encodingRule: 'gsm7' | 'ascii';
}

/** One provider request, built from the rows that a mark returned. */
export interface SubmitRequest {
  /** Our own key of the attempt; passed on only where the provider has an idempotency key. */
  readonly attemptKey: string;
  /** E.164 digits without the plus, each at most once. */
  readonly recipients: readonly string[];
  readonly body: string;
  /** The encoding that was priced. */
  readonly encoding: 'GSM7' | 'UCS2';
  readonly senderId: string | null;
  readonly dltEntityId: string | null;
  readonly dltTemplateId: string | null;
  readonly messageClass: 'otp' | 'transactional' | 'promotional';
  /**
   * The provider shall hold the request until then; null: at once. Never rounded down. A time that has passed is handed
   * on as it is, and what the provider makes of it is its own affair.
   */
  readonly scheduleAt: Date | null;
  /** IANA zone of the provider's local times, from the route; null: the adapter's own. Without `scheduleAt` it says nothing. */
  readonly scheduleZone: string | null;
  /** Past it the message is worthless; passed on only where the provider has a parameter for it (`validity`). */
  readonly validUntil: Date | null;
}

export interface Adapter {
  readonly provider: string;
  readonly capabilities: Capabilities;
  /**
   * Makes one request, once: no retry, no redirect. Whatever the provider or the network does becomes an outcome; this
   * does not throw for it. `budget` is the age the mark may have when the first byte leaves. Aborting `signal` ends the
   * request, which is `not_sent` only if no connection had been ready.
   */
  submit(request: SubmitRequest, budget: SendBudget, signal?: AbortSignal): Promise<Outcome>;
  /**
   * Reads the delivery report of one request; free, and repeatable unless `lookup.destructive`. Does not throw for
   * anything the provider or the network does. `expectedRecipients`: how many the provider accepted. `zone`: the IANA
   * zone of the provider's local times, from the route; without it the adapter's own counts.
   */
  reportByTransaction(
    providerTxnId: string,
    expectedRecipients: number,
    zone?: string,
    signal?: AbortSignal,
  ): Promise<ReportAnswer>;
  /**
   * Reads the account's report over whole days, page by page, unfiltered or for one recipient. `onPage` is called once a
   * page, in order, also for an empty one; what it throws comes out of here. Does not throw for anything the provider or
   * the network does: a page that cannot be read makes the answer `unavailable`, and the caller discards what it was given.
   */
  reportByDays(
    question: DaysQuestion,
    onPage: (records: readonly ProviderRecord[]) => void,
    signal?: AbortSignal,
  ): Promise<DaysAnswer>;
  /**
   * Reads the report of one whole day, which may be a million rows, and hands it over in parts. Does not throw for anything the
   * provider or the network does; what the reader throws comes out. Repeatable unless `lookup.destructive`. Only where
   * `lookup.byDay`; without, the answer is `unavailable`.
   */
  dayReport(question: DayQuestion, reader: DayReader, signal?: AbortSignal): Promise<DayAnswer>;
  /** A free call that sends nothing: are the credentials good, and is there money? Never throws. */
  account(signal?: AbortSignal): Promise<AccountAnswer>;
  /** What the provider holds for later. Never throws. */
  heldSchedules(signal?: AbortSignal): Promise<SchedulesAnswer>;
  /**
   * Asks the provider, once, to delete a request that it holds for later. Never throws. The answer is what it said, and no
   * evidence: until the list (`heldSchedules`) or the report has shown what happened, the message may still go out or
   * have gone out, after `done` as after `refused`.
   */
  cancelSchedule(providerTxnId: string, signal?: AbortSignal): Promise<ScheduleChangeAnswer>;
  /**
   * Asks the provider, once, to hold a request until `at` instead. `zone` as for `scheduleZone`. Never throws. A time that
   * cannot be said without doubt is `refused` by us, and nothing is sent. The answer is no evidence, as above.
   */
  moveSchedule(
    providerTxnId: string,
    at: Date,
    zone: string | null,
    signal?: AbortSignal,
  ): Promise<ScheduleChangeAnswer>;
  /** What a push to us says. Pure, and never throws, whatever the push is. `zone` as for a report. */
  readPush(push: PushRequest, zone: string): PushAnswer;
  /** Judges a status word again, e.g. after it was mapped by configuration. Pure. */
  judgeStatus(statusWord: string, cause: string | null): { readonly status: RecordStatus; readonly causeClass: string };
  /** Closes idle connections. Requests in flight are not waited for. */
  close(): void;
}
