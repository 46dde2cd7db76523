import {
  type AbsenceDoubt,
  type Correlation,
  doubtsAboutAbsence,
  type LooseRecord,
  type RequestedRow,
  windowOf,
} from '@sendledger/core';
import {
  type DuePoll,
  type KnownAccepted,
  MOST_KNOWN,
  type RequestedMessage,
  type ReviewRequest,
  type UnresolvedRow,
} from '@sendledger/core/ledger';
import type { ProviderRecord } from '@sendledger/gateway';
import { type DaysRead, knownKey } from './read-days.ts';

/** Before and after a request, within which other requests are known to have been accepted "around it". */
export const AROUND_MS = 3_600_000;

/** The account and route that a look is made for. */
export type Asked = Pick<DuePoll, 'routeId' | 'provider' | 'account' | 'zone'>;

/** Stands for the number of a record that names none: it fits no row, and stands against the absence of each. */
export const NOBODY = '';

/** A record that nobody owns yet, as the provider gave it. */
export type FoundRecord = LooseRecord & { readonly source: ProviderRecord };

/** Doubts that no later look takes away by itself. */
export const LASTING: ReadonlySet<AbsenceDoubt> = new Set(['loose_records', 'clock_off']);

export const originOf = (poll: Asked) => ({
  routeId: poll.routeId,
  provider: poll.provider,
  account: poll.account,
  source: 'poll' as const,
});

/** Settled for so long that a person should look: a lagging report or a busy worker had its time. */
export const isOverdue = (row: UnresolvedRow) => row.askedAt.getTime() >= row.settlesFrom.getTime() + 2 * row.settleMs;

export const isSettled = (row: UnresolvedRow) => row.askedAt.getTime() >= row.settlesFrom.getTime() + row.settleMs;

export const around = (instants: readonly number[], aroundMs: number): [Date, Date] => [
  new Date(Math.min(...instants) - aroundMs),
  new Date(Math.max(...instants) + aroundMs),
];

export function asRequested(row: RequestedMessage, clockKnown: boolean): RequestedRow {
  return {
    id: row.id,
    recipient: row.recipient,
    senderId: row.senderId,
    ...windowOf(row.requestedAt.getTime(), clockKnown, row.heldUntil?.getTime() ?? null),
  };
}

/** What the provider holds that no request of ours is known to be; null: it could not be read whole. */
export type HeldElsewhere = readonly { readonly scheduledFor: Date | null; readonly createdAt: Date | null }[] | null;

/** A provider whose list names minutes only. */
const SAME_TIME_MS = 60_000;

function scheduleOf(row: UnresolvedRow, held: HeldElsewhere): 'none' | 'not_read' | 'listed' | 'not_listed' {
  const { heldUntil } = row;
  if (heldUntil === null) return 'none';
  if (held === null) return 'not_read';
  const requested = windowOf(row.requestedAt.getTime(), true);
  // One that names no time may be its, and one that was made when it was requested: somebody may have moved it since.
  const listed = held.some(
    ({ scheduledFor, createdAt }) =>
      scheduledFor === null ||
      Math.abs(scheduledFor.getTime() - heldUntil.getTime()) <= SAME_TIME_MS ||
      createdAt === null ||
      (createdAt.getTime() >= requested.fromMs && createdAt.getTime() <= requested.toMs),
  );
  return listed ? 'listed' : 'not_listed';
}

/** One of its ids is in these records. */
export function isShown(row: RequestedMessage, records: readonly ProviderRecord[]): boolean {
  return records.some(
    (record) =>
      (row.providerMessageId !== null && record.providerMessageId === row.providerMessageId) ||
      (row.providerTxnId !== null && record.providerTxnId === row.providerTxnId && record.recipient === row.recipient),
  );
}

export function doubtsOf(
  row: UnresolvedRow,
  read: DaysRead,
  accepted: readonly KnownAccepted[],
  loose: readonly FoundRecord[],
  clock: { readonly offsetMs: number | null; readonly pairs: number },
  waiting: ReadonlyMap<string, number>,
  held: HeldElsewhere,
): AbsenceDoubt[] {
  const at = row.requestedAt.getTime();
  // What was to be held may have its record when it was taken, or when it was sent: the report has to be right at both.
  const sentAt = row.heldUntil?.getTime() ?? at;
  const nearTo = (time: number) => accepted.filter((k) => Math.abs(k.requestedAt.getTime() - time) <= AROUND_MS);
  const near = [...new Set([...nearTo(at), ...nearTo(sentAt)])];
  const before = (time: number) => nearTo(time).filter((k) => k.requestedAt.getTime() < time).length;
  const after = (time: number) =>
    nearTo(time).filter((k) => k.requestedAt.getTime() > Math.max(time, time === at ? row.endedAt.getTime() : time))
      .length;
  return doubtsAboutAbsence({
    readAtMs: row.askedAt.getTime(),
    complete: read.whole,
    knownBefore: Math.min(before(at), before(sentAt)),
    // After the request was over: one that was marked while it was on its way may have overtaken it.
    knownAfter: Math.min(after(at), after(sentAt)),
    knownMissing: near.filter((k) => !read.shown.has(knownKey(k))).length,
    // Whatever sender they name, since nobody promises that it comes back spelt as ours.
    looseRecords: loose.filter((record) => record.recipient === row.recipient || record.recipient === NOBODY).length,
    waitingReceipts: waiting.get(row.recipient) ?? 0,
    transactionNamed: row.transactionNamed,
    knownCut: accepted.length >= MOST_KNOWN,
    requestedAtMs: row.settlesFrom.getTime(),
    settleMs: row.settleMs,
    clockOffsetMs: clock.offsetMs,
    clockPairs: clock.pairs,
    senderIsDone: row.senderIsDone,
    schedule: scheduleOf(row, held),
  });
}

export function ambiguousItem(
  poll: Asked,
  row: UnresolvedRow,
  found: Extract<Correlation<FoundRecord>, { kind: 'ambiguous' }>,
  set: readonly RequestedMessage[],
): ReviewRequest {
  return {
    kind: 'correlation_ambiguous',
    subject: `message ${row.id}`,
    routeId: poll.routeId,
    message: row,
    submission: row.submission,
    once: true,
    refresh: true,
    evidence: {
      attempt_key: row.attemptKey,
      rows: found.rows.length,
      records: found.records,
      ...(found.together
        ? {
            settle_together: 'as many records as messages: all were sent and billed, and nobody can say which is which',
            messages: set
              .filter((other) => other.state === 'unknown')
              .map((other) => ({ id: other.id, created_at: other.createdAt.toISOString() })),
          }
        : {}),
    },
  };
}
