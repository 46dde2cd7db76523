import { laneName, type MessageClass, roomIn } from '@sendledger/core';
import {
  deferProbe,
  durably,
  type LaneWork,
  lanesWithOpenSubmissions,
  type MarkedSubmission,
  markNext,
  type SubmissionOutcome,
  whyNotSending,
} from '@sendledger/core/ledger';
import { type Adapter, type ClockReading, type Outcome, readClocks, startSendBudget } from '@sendledger/gateway';
import { type AppContext, Batcher, type Round, type RouteLimiter } from '@sendledger/worker';
import { buildRequest } from './build-request.ts';
import { type JudgePolicy, judgeOutcome } from './judge-outcome.ts';
import { openReviews, reviewsOf } from './outcome-reviews.ts';
import { logOutcome, SubmitMetrics } from './submit-metrics.ts';
import { writeOutcomes } from './write-outcomes.ts';

export interface SubmitPolicy extends JudgePolicy {
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly sendBudgetMs: number;
  readonly environment: string;
}

/** Rows whose outcomes are written in one transaction at most, unless one request has more. */
const ROWS_A_FLIGHT = 1_000;
/** A class that gives way looks again after this long. */
const URGENT_PAUSE_MS = 20;
/** Bulk waits so long for so large a share of the connections to be free. */
const BULK_PAUSE_MS = 12;
const BULK_SHARE = 0.25;
/** Share of the connections that only one-time passwords may take, so that a campaign never holds them all. */
const RESERVED_FOR_OTP = 0.25;
const EXPLAIN_EVERY_MS = 60_000;
/** Pauses of a lane that waits for a token. */
const SHORTEST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 5_000;
/** The free call before a probe; a provider that hangs must not hold the probe longer than its first pause or two. */
const ACCOUNT_DEADLINE_MS = 10_000;
/** A free call that says nothing puts off so many probes; then one message is sent, since the call itself may be what is broken. */
const PROBES_PUT_OFF = 3;

/** How old the mark may be when the first byte leaves: never past the end of a window or of what the message is worth. */
function budgetMs({ notAfter, requestedAt }: MarkedSubmission, policy: SubmitPolicy): number {
  return Math.min(policy.sendBudgetMs, notAfter.getTime() - requestedAt.getTime());
}

/**
 * Marks and sends. A lane's marks are one transaction at a time and no more than there are free connections; each lane has
 * an outcome batcher of its own, since sharing one with a campaign would triple the latency of a login code. A connection is
 * free again when its outcome is on disk.
 */
export class Submitter {
  readonly #context: AppContext;
  readonly #adapterFor: (lane: LaneWork) => Adapter | undefined;
  readonly #policy: SubmitPolicy;
  readonly #batchers = new Map<string, Batcher<SubmissionOutcome>>();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #explainedAt = new Map<string, number>();
  /** Probes under way, by route. */
  readonly #probing = new Map<string, Promise<void>>();
  /** Marks that were asked for and are not answered: what they marked is held from then on. */
  readonly #marking = new Set<number>();
  readonly #held = new Set<number>();
  /** Places that marks on their way may fill. */
  #asking = 0;
  readonly #metrics: SubmitMetrics;
  readonly #limiter: RouteLimiter;
  /** Lanes that wait for a token. */
  readonly #waiting = new Map<string, NodeJS.Timeout>();
  /** Classes that had more to send than their last round could. */
  readonly #starved = new Set<MessageClass>();
  /** When a lane of bulk was marked last. */
  readonly #markedAt = new Map<string, number>();
  /** Called for each class that waits when a connection is free again. */
  onFree: (messageClass: MessageClass) => void = () => undefined;
  /** Called when a lane that waited for a token should look again. */
  onTokens: (lane: string) => void = () => undefined;

  constructor(
    context: AppContext,
    adapterFor: (lane: LaneWork) => Adapter | undefined,
    policy: SubmitPolicy,
    limiter: RouteLimiter,
  ) {
    this.#context = context;
    this.#limiter = limiter;
    this.#adapterFor = adapterFor;
    this.#policy = policy;
    this.#metrics = new SubmitMetrics(context.registry);
  }

  /**
   * One round over the lanes of one class that have an open submission. Each class has its own loop, so that a login code
   * never waits for the mark of a campaign. Where all connections are taken, the next free one nudges the loops.
   */
  async round(messageClass: MessageClass): Promise<Round> {
    let marked = 0;
    this.#starved.delete(messageClass);
    for (const lane of await lanesWithOpenSubmissions(this.#context.sql, messageClass)) {
      const adapter = this.#adapterFor(lane);
      if (adapter === undefined) {
        await this.#explain(lane, () => [`this process has no account ${lane.provider}/${lane.account}`]);
        continue;
      }
      const most = adapter.capabilities.maxRecipients;
      // Marked, such a request could only be refused by us, and its rows with it.
      if (lane.maxBatch > most) {
        await this.#explain(lane, () => [`the route's max_batch ${lane.maxBatch} is over the provider's ${most}`]);
        continue;
      }
      if (lane.breaker === 'open') {
        await this.#explain(lane, () => whyNotSending(this.#context.sql, lane, this.#policy.environment));
        continue;
      }
      const free = this.#freeFor(lane);
      if (free <= 0) {
        this.#starved.add(messageClass);
        continue;
      }
      if (lane.breaker === 'probe') {
        this.#probe(lane, adapter);
        continue;
      }
      // Of two classes of a route the more urgent goes first, whatever there is too little of.
      if (lane.urgent > 0) {
        this.#starved.add(messageClass);
        this.#lookAgain(lane, URGENT_PAUSE_MS);
        continue;
      }
      if (this.#tooFew(lane, free)) continue;
      const got = await this.#markWithTokens(lane, adapter, Math.min(free, lane.waiting));
      if (got === null) continue;
      if (got < lane.waiting) this.#starved.add(messageClass);
      if (got === 0) await this.#explain(lane, () => whyNotSending(this.#context.sql, lane, this.#policy.environment));
      marked += got;
    }
    return marked > 0 ? 'some' : 'none';
  }

  /**
   * Bulk is marked several at a time: each mark locks its route until it is on disk, and a code that comes then waits for it. One
   * connection that is free is not worth that, unless no other will be soon.
   */
  #tooFew(lane: LaneWork, free: number): boolean {
    if (lane.messageClass === 'otp') return false;
    const key = laneName(lane.routeId, lane.messageClass);
    const now = performance.now();
    const sinceMs = now - (this.#markedAt.get(key) ?? Number.NEGATIVE_INFINITY);
    if (sinceMs < BULK_PAUSE_MS && free < Math.min(lane.waiting, this.#policy.concurrency * BULK_SHARE)) {
      this.#lookAgain(lane, BULK_PAUSE_MS - sinceMs);
      return true;
    }
    this.#markedAt.set(key, now);
    return false;
  }

  /** A connection is free again: whoever had more to send looks again. */
  #freed(): void {
    for (const messageClass of this.#starved) this.onFree(messageClass);
  }

  /**
   * Marks as much as the route's rate allows now. Tokens are taken before the mark, and go back for what it did not return; null:
   * there is none, and the lane is looked at again when there is.
   */
  async #markWithTokens(lane: LaneWork, adapter: Adapter, wanted: number): Promise<number | null> {
    const { rate } = lane;
    if (rate === null) return (await this.#markLane(lane, adapter, wanted, null)).length;
    const recipients = rate.unit === 'recipients';
    // A request waits until its recipients fit; none is larger than the burst, by what the claim takes.
    const tokens = recipients ? Math.min(wanted * rate.largest, Math.max(Math.ceil(rate.burst), rate.largest)) : wanted;
    const keep = lane.messageClass === 'otp' ? 0 : rate.reserve;
    const grant = await this.#limiter.take(
      lane.routeId,
      { rate: rate.perSecond, burst: rate.burst },
      tokens,
      keep,
      rate.largest,
    );
    if (grant.granted === 0) {
      this.#lookAgain(lane, grant.waitMs);
      return null;
    }
    let marked: readonly MarkedSubmission[] = [];
    try {
      marked = await this.#markLane(lane, adapter, Math.min(wanted, grant.granted), recipients ? grant.granted : null);
    } finally {
      const used = recipients ? marked.reduce((sum, s) => sum + s.size, 0) : marked.length;
      await grant.giveBack(grant.granted - used);
    }
    if (grant.granted < tokens || marked.length === 0) this.#lookAgain(lane, grant.waitMs);
    return marked.length;
  }

  /** The rate is used to its end only by who comes back when the next token is there, and not a poll later. */
  #lookAgain(lane: LaneWork, waitMs: number): void {
    const key = laneName(lane.routeId, lane.messageClass);
    if (this.#waiting.has(key)) return;
    const pause = Math.min(Math.max(waitMs, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
    const timer = setTimeout(() => {
      this.#waiting.delete(key);
      this.onTokens(key);
    }, pause);
    timer.unref();
    this.#waiting.set(key, timer);
  }

  /** Says why a lane with open submissions does not move; asked and said once a minute, not once a round. */
  async #explain(lane: LaneWork, why: () => readonly string[] | Promise<readonly string[]>): Promise<void> {
    const key = laneName(lane.routeId, lane.messageClass);
    if (Date.now() - (this.#explainedAt.get(key) ?? 0) < EXPLAIN_EVERY_MS) return;
    this.#explainedAt.set(key, Date.now());
    const reasons = await why();
    if (reasons.length > 0)
      this.#context.log.warn({ route: lane.routeId, message_class: lane.messageClass, reasons }, 'not_sending');
  }

  /** Waits for the requests in flight; each has a deadline of its own. */
  async drain(): Promise<void> {
    while (this.#inFlight.size + this.#probing.size > 0)
      await Promise.allSettled([...this.#inFlight, ...this.#probing.values()]);
  }

  /** Age in ms of the oldest request this process may hold, from before its mark was asked for; null: it holds none. */
  oldestHeldMs(): number | null {
    const since = Math.min(...this.#marking, ...this.#held);
    return Number.isFinite(since) ? performance.now() - since : null;
  }

  /**
   * The one request that an open breaker lets through. The free call comes first, and outside the round: other routes do not wait
   * for a provider that hangs. It is the mark that takes the slot; of several processes that come here one sends.
   */
  #probe(lane: LaneWork, adapter: Adapter): void {
    if (this.#probing.has(lane.routeId)) return;
    const probing = this.#askAndMark(lane, adapter)
      .catch((err) => this.#context.log.warn({ err, route: lane.routeId }, 'probe_failed'))
      .finally(() => {
        this.#probing.delete(lane.routeId);
        this.#freed();
      });
    this.#probing.set(lane.routeId, probing);
  }

  async #askAndMark(lane: LaneWork, adapter: Adapter): Promise<void> {
    const { pool, log } = this.#context;
    const reason = await this.#whyPutOff(lane, adapter);
    if (reason === null) {
      const sent = await this.#markLane(lane, adapter, 1, null);
      if (sent.length > 0) log.warn({ route: lane.routeId, message_class: lane.messageClass }, 'probe_sent');
      return;
    }
    const deferred = await durably(pool, 'probe put off', (sql) => deferProbe(sql, lane.routeId, reason));
    if (deferred) log.warn({ route: lane.routeId, reason }, 'probe_deferred');
  }

  /** Null: the probe leaves. A refused or an empty account is a clear answer, and puts it off for as long as it is given. */
  async #whyPutOff(lane: LaneWork, adapter: Adapter): Promise<string | null> {
    if (lane.probeForced) return null;
    const account = await adapter.account(AbortSignal.timeout(ACCOUNT_DEADLINE_MS));
    if (account.kind === 'ok') return account.empty ? 'the balance is empty' : null;
    if (account.kind === 'unavailable' && lane.probes >= PROBES_PUT_OFF) return null;
    return `the free call: ${account.detail}`;
  }

  #freeFor(lane: LaneWork): number {
    const { concurrency } = this.#policy;
    const reserved = lane.messageClass === 'otp' ? 0 : Math.floor(concurrency * RESERVED_FOR_OTP);
    return concurrency - reserved - this.#inFlight.size - this.#asking;
  }

  async #markLane(
    lane: LaneWork,
    adapter: Adapter,
    free: number,
    rowLimit: number | null,
  ): Promise<readonly MarkedSubmission[]> {
    // Read before the statement is sent: the age of a mark counts from there.
    const clocks = readClocks();
    const since = performance.now();
    this.#marking.add(since);
    let submissions: MarkedSubmission[];
    // The loops of other classes count these places as taken while the mark is on its way.
    this.#asking += free;
    try {
      submissions = await markNext(this.#context.pool, {
        routeId: lane.routeId,
        messageClass: lane.messageClass,
        limit: free,
        rowLimit,
        workerId: this.#context.worker.id,
        environment: this.#policy.environment,
        leaseMs: this.#policy.leaseMs,
      });
    } catch (error) {
      this.#marking.delete(since);
      throw error;
    } finally {
      this.#asking -= free;
    }
    let left = submissions.length;
    if (left > 0) this.#held.add(since);
    this.#marking.delete(since);
    for (const submission of submissions) {
      const flight = this.#send(submission, adapter, clocks, lane.providerZone)
        // Nothing of one request may end the process and with it the replies of the others.
        .catch((err) => this.#context.log.error({ err, submission: submission.id }, 'outcome_lost'))
        .finally(() => {
          this.#inFlight.delete(flight);
          left -= 1;
          if (left === 0) this.#held.delete(since);
          this.#freed();
        });
      this.#inFlight.add(flight);
    }
    // Not waited for: there is room again, and these requests are on their way.
    if (submissions.length > 0)
      void this.#context.wakeUps.send('claim', roomIn(laneName(lane.routeId, lane.messageClass)));
    return submissions;
  }

  async #send(
    submission: MarkedSubmission,
    adapter: Adapter,
    clocks: ClockReading,
    providerZone: string,
  ): Promise<void> {
    const startedMs = Date.now();
    let outcome: Outcome;
    const request = buildRequest(submission, providerZone);
    if ('unbuildable' in request) {
      outcome = {
        kind: 'refused',
        scope: 'permanent',
        retryAfterMs: null,
        reply: { httpStatus: null, raw: null, statusCode: null, reason: request.unbuildable },
      };
    } else {
      try {
        outcome = await adapter.submit(request, startSendBudget(clocks, budgetMs(submission, this.#policy)));
      } catch (error) {
        // An adapter does not throw; if one does, nobody knows what left.
        outcome = {
          kind: 'ambiguous',
          detail: `adapter failed: ${(error as Error).message}`,
          unmappedCode: null,
          providerTxnId: null,
          reply: { httpStatus: null, raw: null, statusCode: null, reason: null },
        };
      }
    }
    const judged = judgeOutcome(submission, outcome, this.#policy, Date.now());
    await this.#batcher(submission).add(judged);
    await openReviews(this.#context, reviewsOf(submission, outcome, judged));
    this.#metrics.observe(submission, judged, (Date.now() - startedMs) / 1_000);
    logOutcome(this.#context.log, submission, judged);
  }

  #batcher({ routeId, messageClass }: MarkedSubmission): Batcher<SubmissionOutcome> {
    const lane = laneName(routeId, messageClass);
    const known = this.#batchers.get(lane);
    if (known !== undefined) return known;
    const batcher = new Batcher<SubmissionOutcome>(
      ROWS_A_FLIGHT,
      (outcome) => outcome.rows.length,
      async (outcomes) => {
        const applied = await writeOutcomes(this.#context.pool, this.#context.log, outcomes, {
          routeId,
          pollInMs: this.#policy.firstReportMs,
        });
        if (applied.stale.length > 0) this.#context.log.warn({ submissions: applied.stale }, 'outcome_stale');
        for (const move of applied.breakers) this.#context.log.warn(move, `breaker_${move.became}`);
        for (const replayed of new Set(applied.replayed)) void this.#context.wakeUps.send('claim', replayed);
      },
    );
    this.#batchers.set(lane, batcher);
    return batcher;
  }
}
