import { type AbsenceDoubt, type Correlation, correlate, windowOf } from '@sendledger/core';
import {
  type DuePoll,
  durably,
  knownAccepted,
  MOST_KNOWN,
  noteCorrelation,
  openReview,
  ownedIds,
  type RequestedMessage,
  requestedMessages,
  resolveReviewOf,
  routeClock,
  settleAsNotSent,
  takeDuePolls,
  takeWatched,
  type UnresolvedRow,
  unresolvedRows,
  waitingReceiptsOf,
} from '@sendledger/core/ledger';
import type { Adapter, ProviderRecord } from '@sendledger/gateway';
import {
  ANSWERED_BY_EVIDENCE,
  type AppContext,
  Counter,
  movedLine,
  type ReceiptKeeper,
  type Round,
  toReceipt,
} from '@sendledger/worker';
import { endLooks } from './end-looks.ts';
import { type DaysRead, readDays } from './read-days.ts';
import { inSpans, ROWS_AT_ONCE } from './spans.ts';
import {
  AROUND_MS,
  type Asked,
  ambiguousItem,
  around,
  asRequested,
  doubtsOf,
  type FoundRecord,
  type HeldElsewhere,
  isOverdue,
  isSettled,
  isShown,
  LASTING,
  NOBODY,
  originOf,
} from './unresolved-rules.ts';

export interface ResolverPolicy {
  /** More recipients than this at once are looked for in one read of everybody's records. */
  readonly filteredReads: number;
  /** Pause after the first look at a submission; it doubles with each. */
  readonly pauseMs: number;
  readonly longestPauseMs: number;
}

const SHORTEST_AROUND_MS = 60_000;
const DAY_MS = 86_400_000;

/** A row with everything that the decision about it rests on. */
interface Verdict {
  readonly row: UnresolvedRow;
  readonly correlation: Correlation<FoundRecord>;
  readonly windowMs: number;
  readonly doubts: readonly AbsenceDoubt[];
}

/**
 * Finds out what became of rows that nobody can vouch for: unknown ones, and those accepted without an id. It reads the
 * provider's report and never writes to the provider. A match moves a row, proof of absence moves a row, and nothing else does:
 * what is ambiguous stays unknown, with a review item.
 */
export class UnknownResolver {
  readonly #context: AppContext;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  readonly #policy: ResolverPolicy;
  readonly #keeper: ReceiptKeeper;
  readonly #verdicts: Counter<'verdict'>;
  /** Submissions whose report was read since the last round. */
  readonly #read = new Map<string, DuePoll>();
  readonly #stopping = new AbortController();
  readonly #alive: () => void;

  /** @param alive called while a long search moves on */
  constructor(
    context: AppContext,
    adapters: ReadonlyMap<string, Adapter>,
    policy: ResolverPolicy,
    keeper: ReceiptKeeper,
    alive: () => void = () => undefined,
  ) {
    this.#context = context;
    this.#alive = alive;
    this.#adapters = adapters;
    this.#policy = policy;
    this.#keeper = keeper;
    this.#verdicts = new Counter({
      name: 'sendledger_resolver_verdicts_total',
      help: 'Looks at rows whose fate is not known, by what was found.',
      labelNames: ['verdict'],
      registers: [context.registry],
    });
  }

  /** Submissions whose report was read, and may not have settled all of their rows. */
  add(polls: readonly DuePoll[]): void {
    for (const poll of polls) if (this.#read.size < ROWS_AT_ONCE) this.#read.set(poll.id, poll);
  }

  /** A shutdown does not wait for a long read. */
  stop(): void {
    this.#stopping.abort();
  }

  /** One round: what has no id to ask by, what the reports left open, and what was called absent and is looked for again. */
  round = async (): Promise<Round> => {
    const { pool } = this.#context;
    const accounts = [...this.#adapters.keys()];
    const { pauseMs, longestPauseMs } = this.#policy;
    const limits = { limit: ROWS_AT_ONCE, firstMs: pauseMs, longestMs: longestPauseMs, accounts };
    const due = await durably(pool, 'search', (sql) => takeDuePolls(sql, { ...limits, kind: 'without_id' }));
    const read = [...this.#read.values()];
    this.#read.clear();
    const unseen = await this.#resolve([...due, ...read]);
    // Their last look is this one; where it could not be made, they wait for the next.
    await endLooks(
      pool,
      due.filter((poll) => !unseen.has(poll.id)),
    );
    const watched = await durably(pool, (sql) => takeWatched(sql, ROWS_AT_ONCE, accounts));
    for (const [, of] of Map.groupBy(watched, (row) => `${row.provider}/${row.account} ${row.zone}`))
      for (const near of inSpans(of)) {
        const [first] = near;
        if (first !== undefined) await this.#tryNear(first, near);
      }
    return due.length >= ROWS_AT_ONCE ? 'more' : due.length + watched.length > 0 ? 'some' : 'none';
  };

  /** Answers the submissions that it could not look after. */
  async #resolve(polls: readonly DuePoll[]): Promise<ReadonlySet<string>> {
    const unseen = new Set<string>();
    const rows = await unresolvedRows(this.#context.sql, polls);
    if (rows.length === 0) return unseen;
    const pollOf = new Map(polls.map((poll) => [poll.id, poll]));
    const accounts = Map.groupBy(rows, (row) => {
      const poll = pollOf.get(row.submission.id);
      return `${poll?.provider}/${poll?.account} ${poll?.zone}`;
    });
    for (const ofAccount of accounts.values())
      for (const near of inSpans(ofAccount)) {
        const [first] = near;
        const poll = first && pollOf.get(first.submission.id);
        if (poll === undefined) continue;
        if (!(await this.#tryNear(poll, near))) for (const row of near) unseen.add(row.submission.id);
      }
    return unseen;
  }

  async #tryNear(asked: Asked, near: readonly UnresolvedRow[]): Promise<boolean> {
    this.#alive();
    try {
      return await this.#resolveNear(asked, near);
    } catch (err) {
      // The next look starts from what is there then.
      this.#context.log.error({ err, route: asked.routeId }, 'resolver_failed');
      return false;
    }
  }

  /** Answers whether the report could be read, or there is none. */
  async #resolveNear(poll: Asked, rows: readonly UnresolvedRow[], aroundMs = AROUND_MS): Promise<boolean> {
    const { sql, log } = this.#context;
    const account = { provider: poll.provider, account: poll.account };
    const adapter = this.#adapters.get(`${poll.provider}/${poll.account}`);
    if (adapter === undefined) return false;
    if (!adapter.capabilities.lookup.byRecipientWindow) {
      await this.#leaveToPeople(rows);
      return true;
    }
    const clock = await routeClock(sql, poll.routeId);
    const known = clock.offsetMs !== null;
    const windows = new Map(
      rows.map((row) => [row.id, windowOf(row.requestedAt.getTime(), known, row.heldUntil?.getTime() ?? null)]),
    );
    const fromMs = Math.min(...[...windows.values()].map((w) => w.fromMs));
    const toMs = Math.max(...[...windows.values()].map((w) => w.toMs));
    const recipients = new Set(rows.map((row) => row.recipient));
    // Absence is worth asking for only where it could be proven: then everybody's records are read, once for all.
    const settled = rows.filter((row) => row.state === 'unknown' && isSettled(row));
    const whole = settled.length > 0 || recipients.size > this.#policy.filteredReads;
    const accepted =
      settled.length === 0
        ? []
        : await knownAccepted(
            this.#context.pool,
            account,
            ...around(
              settled.flatMap((row) => [
                row.requestedAt.getTime(),
                row.heldUntil?.getTime() ?? row.requestedAt.getTime(),
              ]),
              aroundMs,
            ),
          );
    // A busy account: fewer rows at once, then a shorter time around each, so that what is compared is compared whole.
    if (accepted.length >= MOST_KNOWN && rows.length > 1) {
      const half = Math.ceil(rows.length / 2);
      const first = await this.#resolveNear(poll, rows.slice(0, half), aroundMs);
      return (await this.#resolveNear(poll, rows.slice(half), aroundMs)) && first;
    }
    if (accepted.length >= MOST_KNOWN && aroundMs > SHORTEST_AROUND_MS)
      return this.#resolveNear(poll, rows, aroundMs / 6);
    const read = await readDays(adapter, {
      zone: poll.zone,
      fromMs,
      toMs,
      recipients,
      whole,
      known: accepted,
      alive: this.#alive,
      signal: this.#stopping.signal,
    });
    if ('unavailable' in read) {
      this.#verdicts.inc({ verdict: 'unavailable' }, rows.length);
      log.warn({ route: poll.routeId, detail: read.unavailable }, 'report_unavailable');
      await this.#doubt(settled.filter(isOverdue), ['report_incomplete']);
      return false;
    }
    const held = settled.some((row) => row.heldUntil !== null) ? await this.#heldElsewhere(adapter, account) : [];
    // Only now: nothing in the report is newer than what it is compared with.
    const ours = await requestedMessages(
      sql,
      account,
      [...recipients],
      new Date(fromMs - DAY_MS),
      new Date(toMs + DAY_MS),
    );
    const { loose, owned } = await this.#sortRecords(account, read, clock.offsetMs ?? 0);
    // Records that carry an id of ours need no match; they may be what a row waits for.
    await this.#keeper.keep(
      originOf(poll),
      owned.map((record) => toReceipt(record)),
    );
    // A row whose own record stands in this very report needs no other. One whose record was not recognised may be any record's.
    const requested = ours.filter((row) => !isShown(row, read.records));
    const correlations = correlate(
      requested.map((row) => asRequested(row, known)),
      loose,
    );
    const waiting = await waitingReceiptsOf(
      sql,
      settled.map((row) => row.recipient),
      new Date(fromMs),
    );
    const verdicts = rows.flatMap((row): Verdict[] => {
      const window = windows.get(row.id);
      const correlation = correlations.get(row.id);
      // A row that is no longer there has moved meanwhile.
      if (window === undefined || correlation === undefined) return [];
      const windowMs = window.toMs - window.fromMs;
      const doubts = correlation.kind === 'not_found' ? doubtsOf(row, read, accepted, loose, clock, waiting, held) : [];
      return [{ row, correlation, windowMs, doubts }];
    });
    await this.#apply(poll, verdicts, requested);
    return true;
  }

  /** What the provider lists as scheduled and no request of ours is known to be; null: it could not be read whole. */
  async #heldElsewhere(adapter: Adapter, account: { provider: string; account: string }): Promise<HeldElsewhere> {
    const answer = await adapter.heldSchedules(this.#stopping.signal);
    if (answer.kind === 'unavailable' || answer.unreadableRows > 0) return null;
    const { txnIds } = await ownedIds(this.#context.sql, account, {
      messageIds: [],
      txnIds: answer.schedules.map((schedule) => schedule.providerTxnId),
    });
    return answer.schedules.filter((schedule) => !txnIds.has(schedule.providerTxnId));
  }

  /** Records of the recipients: those that carry an id of ours, and those nobody owns, with their times by our clock. */
  async #sortRecords(
    account: { provider: string; account: string },
    read: DaysRead,
    offsetMs: number,
  ): Promise<{ readonly owned: readonly ProviderRecord[]; readonly loose: readonly FoundRecord[] }> {
    const distinct = new Map(read.records.map((r) => [r.providerMessageId ?? JSON.stringify(r.evidence), r]));
    const records = [...distinct.values()];
    const owned = await ownedIds(this.#context.sql, account, {
      messageIds: records.flatMap((r) => r.providerMessageId ?? []),
      txnIds: records.flatMap((r) => r.providerTxnId ?? []),
    });
    const isOurs = (record: ProviderRecord) =>
      (record.providerMessageId !== null && owned.messageIds.has(record.providerMessageId)) ||
      (record.providerTxnId !== null && owned.txnIds.has(record.providerTxnId));
    return {
      owned: records.filter(isOurs),
      loose: records.flatMap((source) => {
        const { recipient } = source;
        if (isOurs(source)) return [];
        const atMs = source.submittedAt === null ? null : source.submittedAt.getTime() - offsetMs;
        return [{ recipient: recipient ?? NOBODY, senderId: source.senderId, atMs, source }];
      }),
    };
  }

  async #apply(poll: Asked, verdicts: readonly Verdict[], requested: readonly RequestedMessage[]): Promise<void> {
    for (const verdict of verdicts)
      try {
        await this.#applyOne(poll, verdict, requested);
      } catch (err) {
        // One row that cannot be written keeps none of the others waiting.
        const { attemptKey } = verdict.row;
        this.#context.log.error(
          { err, attempt_key: attemptKey, verdict: verdict.correlation.kind },
          'verdict_not_written',
        );
      }
  }

  async #applyOne(poll: Asked, verdict: Verdict, requested: readonly RequestedMessage[]): Promise<void> {
    const { row, correlation, windowMs, doubts } = verdict;
    if (correlation.kind === 'matched') {
      await this.#keeper.keep(originOf(poll), [toReceipt(correlation.record.source, row)]);
      await durably(this.#context.pool, 'match', (sql) => noteCorrelation(sql, [row], 'matched', windowMs));
      this.#say(row, 'matched');
      return;
    }
    if (row.state !== 'unknown') return;
    if (correlation.kind === 'ambiguous') {
      await durably(this.#context.pool, async (sql) => {
        await noteCorrelation(sql, [row], 'ambiguous', windowMs);
        // A row of the set whose own id is still to come explains a record; and a report that lags will show more of them.
        const set = requested.filter((other) => correlation.rows.includes(other.id));
        if (set.some((other) => other.providerTxnId !== null && other.state === 'submitted')) return;
        if (correlation.together || isSettled(row)) await openReview(sql, ambiguousItem(poll, row, correlation, set));
      });
      this.#say(row, 'ambiguous');
      return;
    }
    if (doubts.length === 0) return this.#fail(row, windowMs);
    await durably(this.#context.pool, (sql) => noteCorrelation(sql, [row], 'not_found', windowMs));
    this.#say(row, 'not_found', doubts);
    if (isOverdue(row) || doubts.some((doubt) => LASTING.has(doubt))) await this.#doubt([row], doubts);
  }

  /** Proven absent: failed, and sent again in the same transaction where its sender wants that. */
  async #fail(row: UnresolvedRow, windowMs: number): Promise<void> {
    const { pool, log, wakeUps } = this.#context;
    const { moved, replays } = await durably(pool, 'absence', async (sql) => {
      const settled = await settleAsNotSent(sql, [row], {
        reason: 'proven_not_submitted',
        proof: 'absent from the complete report of its days, in which what was accepted around it stands',
        proven: true,
        correlation: 'not_found',
        windowMs,
      });
      await resolveReviewOf(sql, [row], ANSWERED_BY_EVIDENCE, 'its absence is proven');
      return settled;
    });
    for (const line of moved) log.warn(movedLine(line), 'proven_not_submitted');
    this.#say(row, 'absent');
    for (const replay of replays)
      if (replay.answer === 'created' && replay.lane !== null) {
        log.info({ replaces: row.attemptKey, attempt_key: replay.attemptKey }, 'replayed');
        void wakeUps.send('claim', replay.lane);
      }
  }

  async #doubt(rows: readonly UnresolvedRow[], doubts: readonly AbsenceDoubt[]): Promise<void> {
    for (const row of rows)
      await durably(this.#context.pool, (sql) =>
        openReview(sql, {
          kind: 'absence_not_proven',
          subject: `message ${row.id}`,
          routeId: row.routeId,
          message: row,
          submission: row.submission,
          once: true,
          evidence: { doubts, requested_at: row.requestedAt.toISOString(), attempt_key: row.attemptKey },
        }),
      );
  }

  /** A provider without a report: only a person can say, or the recipient's own answer. */
  async #leaveToPeople(rows: readonly UnresolvedRow[]): Promise<void> {
    for (const row of rows)
      if (row.state === 'unknown' && isSettled(row))
        await durably(this.#context.pool, (sql) =>
          openReview(sql, {
            kind: 'no_report_to_ask',
            subject: `message ${row.id}`,
            routeId: row.routeId,
            message: row,
            submission: row.submission,
            once: true,
            evidence: { requested_at: row.requestedAt.toISOString(), attempt_key: row.attemptKey },
          }),
        );
  }

  #say(row: UnresolvedRow, verdict: string, doubts: readonly AbsenceDoubt[] = []): void {
    this.#verdicts.inc({ verdict });
    this.#context.log.info(
      { attempt_key: row.attemptKey, submission: row.submission.id, verdict, ...(doubts.length > 0 ? { doubts } : {}) },
      'resolved',
    );
  }
}
