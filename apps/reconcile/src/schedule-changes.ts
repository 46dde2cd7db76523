import { asksProvider, judgeScheduleChange, type ScheduleFacts } from '@sendledger/core';
import {
  askCoveredSince,
  durably,
  endScheduleChange,
  noteScheduleChange,
  type ScheduleChange,
  takeScheduleChanges,
} from '@sendledger/core/ledger';
import type { Adapter, ScheduleChangeAnswer, SchedulesAnswer } from '@sendledger/gateway';
import { type AppContext, Counter, type Round } from '@sendledger/worker';

export interface SchedulePolicy {
  /** Pause after the first ask; it doubles with each. */
  readonly pauseMs: number;
  /** After a message's time, when its report is read first. */
  readonly firstReportMs: number;
}

/** How often, how far back and how many cancellations are held against what providers hold. */
const COVERED_EVERY_MS = 30_000;
const COVERED_MINUTES = 15;
const COVERED_FACTS = 200;
/** Changes of one round: each costs two or three calls, one after the other. */
const AT_ONCE = 20;

/**
 * Asks providers to drop or move what they hold, and then looks what they did: their answer is a word, their list and their report are
 * evidence. No transaction is open while a provider is asked.
 *
 * @param adapters by `provider/account`
 */
export class ScheduleChanges {
  readonly #context: AppContext;
  readonly #adapters: ReadonlyMap<string, Adapter>;
  readonly #policy: SchedulePolicy;
  readonly #ended: Counter<'kind' | 'state'>;
  #coveredAt = Number.NEGATIVE_INFINITY;

  constructor(context: AppContext, adapters: ReadonlyMap<string, Adapter>, policy: SchedulePolicy) {
    this.#context = context;
    this.#adapters = adapters;
    this.#policy = policy;
    this.#ended = new Counter({
      name: 'sendledger_schedule_changes_total',
      help: 'Cancellations and moves asked of providers that hold a request, by how they ended.',
      labelNames: ['kind', 'state'],
      registers: [context.registry],
    });
  }

  round = async (): Promise<Round> => {
    if (performance.now() - this.#coveredAt > COVERED_EVERY_MS) {
      this.#coveredAt = performance.now();
      const asked = await durably(this.#context.pool, (sql) => askCoveredSince(sql, COVERED_MINUTES, COVERED_FACTS));
      if (asked > 0) this.#context.log.info({ messages: asked }, 'held_messages_covered');
    }
    const changes = await durably(this.#context.pool, 'schedule change taken', (sql) =>
      takeScheduleChanges(sql, {
        limit: AT_ONCE,
        pauseMs: this.#policy.pauseMs,
        accounts: [...this.#adapters.keys()],
      }),
    );
    const asked: Asked[] = [];
    for (const change of changes)
      await this.#each(change, async () => {
        asked.push(await this.#ask(change));
      });
    // After the calls, so that it shows what they did; once for all of an account.
    const lists = new Map<string, SchedulesAnswer>();
    for (const [account, adapter] of this.#adapters)
      if (changes.some((change) => accountOf(change) === account)) lists.set(account, await adapter.heldSchedules());
    for (const one of asked) await this.#each(one.change, () => this.#judge(one, lists.get(accountOf(one.change))));
    return changes.length >= AT_ONCE ? 'more' : 'none';
  };

  /** One that fails holds up no other; it is asked again after its pause. */
  async #each(change: ScheduleChange, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      this.#context.log.error({ err, submission: change.submission.id }, 'schedule_change_failed');
    }
  }

  async #ask(change: ScheduleChange): Promise<Asked> {
    const before = answerOf(change.answered);
    const adapter = this.#adapters.get(accountOf(change));
    const due = asksProvider({ answered: before, nowMs: Date.now(), scheduledForMs: change.scheduledFor.getTime() });
    if (adapter === undefined || !due) return { change, answered: before, words: change.answered };
    const answer =
      change.kind === 'cancel'
        ? await adapter.cancelSchedule(change.providerTxnId)
        : await adapter.moveSchedule(change.providerTxnId, change.moveTo ?? change.scheduledFor, change.zone);
    return { change, answered: answer.kind, words: wordsOf(answer) };
  }

  async #judge({ change, answered, words }: Asked, listed: SchedulesAnswer | undefined): Promise<void> {
    const adapter = this.#adapters.get(accountOf(change));
    if (adapter === undefined || listed === undefined) return;
    const scheduledForMs = change.scheduledFor.getTime();
    const nowMs = Date.now();
    const facts: ScheduleFacts = {
      kind: change.kind,
      answered,
      list: listFact(listed, change.providerTxnId),
      records: nowMs >= scheduledForMs ? await this.#records(adapter, change) : null,
      nowMs,
      scheduledForMs,
      moveToMs: change.moveTo?.getTime() ?? null,
      settleMs: change.settleMs,
      asks: change.asks,
    };
    const verdict = judgeScheduleChange(facts);
    const seen = seenWords(facts);
    const line = { submission: change.submission.id, kind: change.kind, answered: words, seen, verdict };
    if (verdict === 'again') {
      await durably(this.#context.pool, (sql) => noteScheduleChange(sql, change, { answered: words, seen }));
      this.#context.log.info(line, 'schedule_change_open');
      return;
    }
    const { firstReportMs } = this.#policy;
    const messages = await durably(this.#context.pool, 'schedule change ended', (sql) =>
      endScheduleChange(sql, change, { state: verdict, answered: words, seen, firstReportMs }),
    );
    if (messages === null) return;
    this.#ended.inc({ kind: change.kind, state: verdict });
    this.#context.log.warn({ ...line, messages }, 'schedule_change_ended');
  }

  /** How many of its records a whole report shows; null where it is not whole. */
  async #records(adapter: Adapter, change: ScheduleChange): Promise<number | null> {
    const answer = await adapter.reportByTransaction(change.providerTxnId, change.size, change.zone);
    if (answer.kind === 'unavailable') return null;
    if (answer.kind === 'records' && answer.records.length > 0) return answer.records.length;
    // A report without a record of it covers nothing; only together with the list, and long after its time, does that say anything.
    return 0;
  }
}

/** A change, and what the provider answered last. */
interface Asked {
  readonly change: ScheduleChange;
  readonly answered: ScheduleFacts['answered'];
  /** The same, as it is noted. */
  readonly words: string | null;
}

const accountOf = (change: ScheduleChange) => `${change.provider}/${change.account}`;

function wordsOf(answer: ScheduleChangeAnswer): string {
  if (answer.kind === 'refused') return `refused: code ${answer.statusCode ?? 'none'}`;
  return 'detail' in answer ? `${answer.kind}: ${answer.detail}`.slice(0, 200) : answer.kind;
}

function answerOf(words: string | null): ScheduleFacts['answered'] {
  const kind = (words ?? '').split(':')[0];
  return kind === 'done' || kind === 'refused' || kind === 'not_sent' || kind === 'ambiguous' ? kind : null;
}

function listFact(answer: SchedulesAnswer, txnId: string): ScheduleFacts['list'] {
  if (answer.kind === 'unavailable') return null;
  const entry = answer.schedules.find((schedule) => schedule.providerTxnId === txnId);
  if (entry !== undefined)
    return { entry: { state: entry.state, scheduledForMs: entry.scheduledFor?.getTime() ?? null } };
  // An element that cannot be read may be it.
  return answer.unreadableRows > 0 ? null : { entry: null };
}

function seenWords(facts: ScheduleFacts): string {
  const list =
    facts.list === null
      ? 'list not read'
      : facts.list.entry === null
        ? 'not in the list'
        : `list: ${facts.list.entry.state}`;
  return facts.records === null ? list : `${list}; records: ${facts.records}`;
}
