/** What was asked of a provider about a request it holds, and everything that is known of it. Instants in ms, by our clock. */
export interface ScheduleFacts {
  readonly kind: 'cancel' | 'move';
  /** The last answer to the call; null: it was not made yet. */
  readonly answered: 'done' | 'refused' | 'not_sent' | 'ambiguous' | null;
  /** What the provider's list showed after the call; null: it could not be read whole. */
  readonly list: { readonly entry: ScheduleEntry | null } | null;
  /** Records of the request in a complete report; null: none was read, or not whole. */
  readonly records: number | null;
  readonly nowMs: number;
  /** When the provider sends it, as far as we know. */
  readonly scheduledForMs: number;
  /** Of a move: the time that was wanted. */
  readonly moveToMs: number | null;
  /** How long after its time a record may be missing from the report. */
  readonly settleMs: number;
  /** How often it was asked. */
  readonly asks: number;
}

export interface ScheduleEntry {
  readonly state: 'waiting' | 'cancelled' | 'sent' | 'unknown';
  readonly scheduledForMs: number | null;
}

/**
 * `done`, `too_late`: seen. `again`: not yet seen either way. `refused`: the provider says no and holds it as before, or nobody can say
 * what it did; a person is asked.
 */
export type ScheduleVerdict = 'done' | 'too_late' | 'again' | 'refused';

/** A provider whose list names minutes only. */
const SAME_TIME_MS = 60_000;
/** Before its time, in which what is gone from the list may have been sent. */
const NEAR_MS = 60_000;
/** Refusals after which nobody asks again. */
const MOST_REFUSALS = 5;
/** After its time and the settling, evidence may still come for so long. */
const PATIENCE_MS = 86_400_000;

/**
 * What became of a change. The provider's own answer is not enough: a delete that is answered and comes a moment late, or that is not
 * answered and came in time, look alike until the list or the report shows which. Pure.
 */
export function judgeScheduleChange(facts: ScheduleFacts): ScheduleVerdict {
  return facts.kind === 'cancel' ? judgeCancel(facts) : judgeMove(facts);
}

function judgeCancel(facts: ScheduleFacts): ScheduleVerdict {
  const entry = facts.list?.entry ?? null;
  if ((facts.records ?? 0) > 0 || entry?.state === 'sent') return 'too_late';
  if (entry?.state === 'cancelled') return 'done';
  const gone = facts.list !== null && entry === null;
  // Near its time, gone may mean sent.
  if (gone && facts.answered === 'done' && facts.nowMs < facts.scheduledForMs - NEAR_MS) return 'done';
  const settled = facts.nowMs >= facts.scheduledForMs + facts.settleMs;
  // Its word, and neither held nor sent long after its time. Without its word an empty report may only lag.
  if (settled && gone && facts.answered === 'done' && facts.records === 0) return 'done';
  if (facts.nowMs >= facts.scheduledForMs + facts.settleMs + PATIENCE_MS) return 'refused';
  return facts.answered === 'refused' && !gone && facts.list !== null && facts.asks >= MOST_REFUSALS
    ? 'refused'
    : 'again';
}

function judgeMove(facts: ScheduleFacts): ScheduleVerdict {
  const entry = facts.list?.entry ?? null;
  const wanted = facts.moveToMs ?? Number.NaN;
  if (entry?.state === 'cancelled' || entry?.state === 'sent' || (facts.records ?? 0) > 0) return 'too_late';
  if (entry?.scheduledForMs !== undefined && entry.scheduledForMs !== null) {
    const off = Math.abs(entry.scheduledForMs - wanted);
    // Nearer to what was wanted than to what it was, or a small move would be taken for made.
    if (off < SAME_TIME_MS && off < Math.abs(entry.scheduledForMs - facts.scheduledForMs)) return 'done';
    if (facts.answered === 'refused' && facts.asks >= MOST_REFUSALS) return 'refused';
  }
  if (facts.nowMs < facts.scheduledForMs) return 'again';
  // Its old time has come: seen at it, or seen no more, it was sent then. Where nothing can be seen it may have been moved.
  if (facts.list !== null) return 'too_late';
  return facts.nowMs >= facts.scheduledForMs + facts.settleMs + PATIENCE_MS ? 'refused' : 'again';
}

/** Whether the call is made (again): not after its time, nor where it was answered and only has to be seen. */
export function asksProvider(facts: Pick<ScheduleFacts, 'answered' | 'nowMs' | 'scheduledForMs'>): boolean {
  return facts.nowMs < facts.scheduledForMs && facts.answered !== 'done';
}
