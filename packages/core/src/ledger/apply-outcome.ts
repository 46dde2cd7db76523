import type { BreakerEvent, BreakerSign } from '../domain/breaker.ts';
import { applyToBreaker, type BreakerMove, lockForBreaker } from './breaker.ts';
import type { RowRef } from './identity.ts';
import { byId, rowKeys, sortedRowKeys } from './identity.ts';
import { keepLateEvidence } from './late-acceptance.ts';
import { dictionary, inChunks } from './row-values.ts';
import { replayProven } from './settle-unknown.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';
import { throttleRoute } from './throttle.ts';

/** What became of one request, judged row by row; see the gateway's closed outcome set. */
export interface SubmissionOutcome extends RowRef {
  readonly leaseToken: string;
  readonly state: 'accepted' | 'refused' | 'not_sent' | 'ambiguous';
  /** Our classification: `accepted`, `throttled`, `timeout`, … */
  readonly reason: string;
  /** Why nothing can have left; only with `not_sent`. */
  readonly proof: string | null;
  readonly providerTxnId: string | null;
  readonly statusCode: string | null;
  readonly httpStatus: number | null;
  /** Bounded and redacted before it gets here. */
  readonly rawReply: Uint8Array | null;
  /** When the provider's report is read first, in ms from now; null where there is nothing to read. */
  readonly pollInMs: number | null;
  /** What it says about its route; absent where it says nothing. */
  readonly breaker?: { readonly routeId: string; readonly sign: BreakerSign };
  /** The provider said that we are too fast: nothing leaves by this route for so many ms. */
  readonly throttle?: { readonly routeId: string; readonly forMs: number };
  readonly rows: readonly RowOutcome[];
}

export interface RowOutcome extends RowRef {
  readonly to: 'submitted' | 'rejected' | 'retry' | 'unknown';
  readonly reason: string | null;
  /** The provider's own words, verbatim. */
  readonly cause: string | null;
  /** Whether this was a try in the provider's eyes: what was not sent uses up none. */
  readonly countsAsAttempt: boolean;
  /** With `retry`: when it is due again, in ms from now. */
  readonly retryInMs: number | null;
}

export interface AppliedOutcomes {
  /** Submissions whose outcome was written by this call. */
  readonly submissions: readonly string[];
  /** Rows moved out of `claimed`. */
  readonly rows: number;
  /** Rows moved out of `unknown` by a reply that came after its lease. */
  readonly late: number;
  /** Submissions that were no longer waiting for this outcome: applied before, or owned by somebody else. */
  readonly stale: readonly string[];
  /** Breakers that these outcomes opened or closed. */
  readonly breakers: readonly BreakerMove[];
  /** Lanes that got a successor of a message that is now proven not sent. */
  readonly replayed: readonly string[];
}

/**
 * Locks the submissions of these outcomes, and says which still wait for them: marked, or ambiguous with something better than
 * ambiguous to say. The lease token is what makes a second application, or one by a worker of a lost timeline, find nothing.
 */
export const LOCK_WAITING = `select s.id, s.state::text as state, s.requested_at, s.is_probe,
    s.state = 'marked' or (s.state = 'ambiguous' and ($5::text[])[width_bucket(s.id, $1::bigint[])] <> 'ambiguous') as waits
  from sendledger.submission s
  where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3
    and s.lease_token = ($4::uuid[])[width_bucket(s.id, $1::bigint[])]
  order by s.id
  for update`;

export const SETTLE_SUBMISSIONS = `update sendledger.submission s
  set (state, responded_at, outcome_reason, outcome_proof, provider_txn_id, provider_status_code, http_status, raw_reply, poll_at) = (
    select (($4::text[])[x.pos])::sendledger.submission_state, greatest(now(), s.responded_at + interval '1 microsecond'), ($5::text[])[x.pos], ($6::text[])[x.pos], coalesce(($7::text[])[x.pos], s.provider_txn_id),
      ($8::text[])[x.pos], (($9::integer[])[x.pos])::smallint, coalesce(s.raw_reply, ($10::bytea[])[x.pos]),
      now() + ($11::double precision[])[x.pos] * interval '1 ms'
    from (select width_bucket(s.id, $1::bigint[]) as pos) x)
  where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3 and s.state in ('marked', 'ambiguous')`;

/** Cost is copied from the quote, which is frozen since the claim: what the row says was agreed before the request left. */
export const MOVE_CLAIMED = `update sendledger.outbound_message m
  set (state, state_reason, provider_cause, attempt_count, due_at, updated_at,
       requested_at, provider_txn_id, provider_status_code,
       submitted_at, receipt_by, billable_units, cost, cost_currency, cost_source) = (
    select x.state, ($13::text[])[($5::integer[])[x.pos]], ($14::text[])[($6::integer[])[x.pos]], m.attempt_count + ($7::integer[])[x.pos],
      case when x.state = 'retry' then now() + ($8::double precision[])[x.pos] * interval '1 ms' else m.due_at end, now(),
      ($10::timestamptz[])[x.sub],
      case when x.state in ('submitted', 'rejected', 'unknown') then ($11::text[])[x.sub] else m.provider_txn_id end,
      ($12::text[])[x.sub],
      case when x.state = 'submitted' then now() end,
      case when x.state = 'submitted' then greatest(now(), m.scheduled_for) + (select l.receipt_within from sendledger.lane l
        where l.route_id = m.route_id and l.message_class = m.message_class) end,
      case when x.state = 'submitted' then m.quoted_units end, case when x.state = 'submitted' then m.quoted_cost end,
      case when x.state = 'submitted' then m.quoted_currency end,
      case when x.state = 'submitted' then 'quote'::sendledger.cost_source end
    from (select p.pos, (($15::text[])[($4::integer[])[p.pos]])::sendledger.message_state as state, ($16::integer[])[p.pos] as sub
      from (select width_bucket(m.id, $1::bigint[]) as pos) p) x)
  where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state = 'claimed'
    -- The request that names it, and not another one of the batch.
    and m.submission_id = ($9::bigint[])[($16::integer[])[width_bucket(m.id, $1::bigint[])]]`;

/** A reply after its lease is evidence, and always lands: accepted makes unknown rows submitted and billed. */
export const LATE_ACCEPTED = `update sendledger.outbound_message m
  set (state, state_reason, updated_at, reconciled_at, provider_txn_id, provider_status_code, submitted_at, receipt_by,
       billable_units, cost, cost_currency, cost_source) = (
    select 'submitted'::sendledger.message_state, 'late_reply', now(), now(), coalesce(($5::text[])[x.sub], m.provider_txn_id), ($6::text[])[x.sub],
      m.requested_at, greatest(now(), m.scheduled_for) + (select l.receipt_within from sendledger.lane l
        where l.route_id = m.route_id and l.message_class = m.message_class),
      m.quoted_units, m.quoted_cost, m.quoted_currency, 'quote'::sendledger.cost_source
    from (select width_bucket(m.submission_id, $4::bigint[]) as sub) x)
  where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state = 'unknown'
    and m.submission_id = any ($4::bigint[])`;

/** A late refusal, or proof that nothing was sent, is proof of absence: unknown rows fail with that as their reason. */
export const LATE_ABSENT = `update sendledger.outbound_message m
  set state = 'failed', updated_at = now(), reconciled_at = now(),
    state_reason = ($5::text[])[width_bucket(m.id, $1::bigint[])], provider_cause = ($6::text[])[width_bucket(m.id, $1::bigint[])]
  where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state = 'unknown'
    and m.submission_id = any ($4::bigint[])
  returning m.id, m.created_at as "createdAt"`;

/**
 * marked → its outcome, and its rows out of `claimed`: recipients the provider refused are rejected and unbilled, the rest
 * follow the outcome. Applying the same outcome twice changes nothing.
 */
export async function applyOutcomes(sql: Sql, given: readonly SubmissionOutcome[]): Promise<AppliedOutcomes> {
  if (given.length === 0) return NOTHING_APPLIED;
  const outcomes = byId(given);
  const locked = await lockRoutesAndKeys(sql, outcomes);
  const waiting = await lockWaiting(sql, outcomes);
  const mine = outcomes.filter((o) => waiting.get(o.id)?.waits === true);
  const stale = outcomes.filter((o) => waiting.get(o.id)?.waits !== true);
  // Settled meanwhile by other evidence, which may be about some of its rows only: what the reply says about the rest still lands.
  const overtaken = stale.filter((o) => waiting.has(o.id));
  await settleSubmissions(sql, mine);

  const onTime = mine.filter((o) => waiting.get(o.id)?.state === 'marked');
  const late = mine.filter((o) => waiting.get(o.id)?.state === 'ambiguous');
  const rows = await moveClaimed(sql, onTime, waiting);
  const tooLate = byId([...late, ...overtaken]);
  const unknown = await moveUnknown(sql, tooLate);
  await keepLateEvidence(sql, tooLate);
  return {
    submissions: mine.map((o) => o.id),
    rows,
    late: unknown.moved,
    stale: stale.map((o) => o.id),
    // A late outcome was counted as ambiguous when its lease ran out, and says nothing about now.
    breakers: await signBreakers(sql, onTime, waiting, locked),
    replayed: unknown.replayed,
  };
}

const NOTHING_APPLIED: AppliedOutcomes = { submissions: [], rows: 0, late: 0, stale: [], breakers: [], replayed: [] };

/** Route and keys come before submissions in the order of locks; nearly always there is nothing to lock. Answers the routes. */
async function lockRoutesAndKeys(sql: Sql, outcomes: readonly SubmissionOutcome[]): Promise<ReadonlySet<string>> {
  const locked = new Set<string>();
  const byRoute = Map.groupBy(
    outcomes.filter((o) => o.breaker !== undefined),
    (o) => o.breaker?.routeId ?? '',
  );
  for (const routeId of [...byRoute.keys()].toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)))
    if (
      await lockForBreaker(
        sql,
        routeId,
        (byRoute.get(routeId) ?? []).flatMap((o) => o.breaker?.sign ?? []),
      )
    )
      locked.add(routeId);
  for (const [routeId, of] of Map.groupBy(
    outcomes.flatMap((o) => o.throttle ?? []),
    (throttle) => throttle.routeId,
  ))
    await throttleRoute(sql, routeId, Math.max(...of.map((throttle) => throttle.forMs)));
  const absent = outcomes.filter((o) => o.state === 'not_sent' || o.state === 'refused');
  if (absent.length === 0) return locked;
  const late = await rowsOf<{ id: string }>(
    sql,
    `select s.id from sendledger.submission s
     where s.id = any ($1::bigint[]) and s.created_at >= $2 and s.created_at <= $3
       -- One whose lease is over may be ambiguous by the time it is locked.
       and (s.state::text in ('ambiguous', 'accepted') or s.state::text = 'marked' and s.lease_until <= clock_timestamp() + interval '1 s')`,
    rowKeys(absent),
  );
  const ids = new Set(late.map((row) => row.id));
  const replayable = absent.filter((o) => ids.has(o.id)).flatMap((o) => o.rows.filter((row) => row.to === 'retry'));
  if (replayable.length > 0)
    await sql.query('select sendledger.lock_keys_of($1::bigint[], $2, $3)', rowKeys(replayable));
  return locked;
}

async function signBreakers(
  sql: Sql,
  outcomes: readonly SubmissionOutcome[],
  waiting: Waiting,
  locked: ReadonlySet<string>,
): Promise<BreakerMove[]> {
  const events = new Map<string, BreakerEvent[]>();
  for (const o of outcomes) {
    if (o.breaker === undefined || !locked.has(o.breaker.routeId)) continue;
    const of = events.get(o.breaker.routeId) ?? [];
    of.push({
      sign: o.breaker.sign,
      probe: waiting.get(o.id)?.isProbe ?? false,
      ...(waiting.get(o.id) === undefined ? {} : { requestedAtMs: waiting.get(o.id)?.requestedAt.getTime() ?? 0 }),
      reason: `${o.state}: ${o.reason}`,
    });
    events.set(o.breaker.routeId, of);
  }
  const moves: BreakerMove[] = [];
  for (const [routeId, of] of events) {
    const move = await applyToBreaker(sql, routeId, of);
    if (move !== null) moves.push(move);
  }
  return moves;
}

/**
 * One outcome of a batch whose rows cannot be written together: halves that cannot be written are halved again, each behind a
 * savepoint, and a row that cannot be written by itself is unknown, with `setApart` told of it. The others go on. Only for an
 * accepted request whose lease is alive: there the rows differ in what is stored, and `unknown` is a legal end.
 *
 * @param tolerates whether an error is about the data and would come again
 */
export async function applyRowByRow(
  sql: Sql,
  outcome: SubmissionOutcome,
  tolerates: (error: unknown) => boolean,
  setApart: (row: RowRef) => void,
): Promise<AppliedOutcomes> {
  const waiting = await lockWaiting(sql, [outcome]);
  if (waiting.get(outcome.id)?.state !== 'marked') return { ...NOTHING_APPLIED, stale: [outcome.id] };
  await settleSubmissions(sql, [outcome]);

  const move = async (rows: readonly PlacedRow[]): Promise<number> => {
    if (rows.length === 0) return 0;
    await sql.query('savepoint rows');
    try {
      const moved = await moveChunk(sql, rows, [outcome], waiting);
      await sql.query('release savepoint rows');
      return moved;
    } catch (error) {
      if (!tolerates(error)) throw error;
      await sql.query('rollback to savepoint rows');
    }
    const [only, ...others] = rows;
    if (only === undefined || others.length > 0) {
      const half = Math.ceil(rows.length / 2);
      return (await move(rows.slice(0, half))) + (await move(rows.slice(half)));
    }
    setApart(only);
    const unknown = { ...only, to: 'unknown', reason: 'outcome_not_writable', cause: null, retryInMs: null } as const;
    return moveChunk(sql, [unknown], [outcome], waiting);
  };
  return { ...NOTHING_APPLIED, submissions: [outcome.id], rows: await move(rowsAndPlaces([outcome])) };
}

type Waiting = Map<
  string,
  { readonly state: string; readonly requestedAt: Date; readonly isProbe: boolean; readonly waits: boolean }
>;

async function lockWaiting(sql: Sql, outcomes: readonly SubmissionOutcome[]): Promise<Waiting> {
  const [ids, earliest, latest] = sortedRowKeys(outcomes);
  const rows = await rowsOf<{ id: string; state: string; requested_at: Date; is_probe: boolean; waits: boolean }>(
    sql,
    LOCK_WAITING,
    [ids, earliest, latest, outcomes.map((o) => o.leaseToken), outcomes.map((o) => o.state)],
  );
  return new Map(
    rows.map(({ id, state, requested_at, is_probe, waits }) => [
      id,
      { state, requestedAt: requested_at, isProbe: is_probe, waits },
    ]),
  );
}

async function settleSubmissions(sql: Sql, outcomes: readonly SubmissionOutcome[]): Promise<void> {
  if (outcomes.length === 0) return;
  const [ids, earliest, latest] = sortedRowKeys(outcomes);
  await sql.query(SETTLE_SUBMISSIONS, [
    ids,
    earliest,
    latest,
    outcomes.map((o) => o.state),
    outcomes.map((o) => o.reason),
    outcomes.map((o) => o.proof),
    outcomes.map((o) => o.providerTxnId),
    outcomes.map((o) => o.statusCode),
    outcomes.map((o) => o.httpStatus),
    outcomes.map((o) => (o.rawReply === null ? null : Buffer.from(o.rawReply))),
    outcomes.map((o) => o.pollInMs),
  ]);
}

async function moveClaimed(sql: Sql, outcomes: readonly SubmissionOutcome[], waiting: Waiting): Promise<number> {
  let moved = 0;
  for (const rows of inChunks(rowsAndPlaces(outcomes))) moved += await moveChunk(sql, rows, outcomes, waiting);
  return moved;
}

/** A row, and the place (from 1) of its request among the outcomes. */
type PlacedRow = RowOutcome & { readonly place: number };

function rowsAndPlaces(outcomes: readonly SubmissionOutcome[]): readonly PlacedRow[] {
  return byId(outcomes.flatMap((o, at) => o.rows.map((row) => ({ ...row, place: at + 1 }))));
}

async function moveChunk(
  sql: Sql,
  rows: readonly PlacedRow[],
  outcomes: readonly SubmissionOutcome[],
  waiting: Waiting,
): Promise<number> {
  const [ids, earliest, latest] = sortedRowKeys(rows);
  const states = dictionary(rows.map((r) => r.to));
  const reasons = dictionary(rows.map((r) => r.reason));
  const causes = dictionary(rows.map((r) => r.cause));
  return countOf(sql, MOVE_CLAIMED, [
    ids,
    earliest,
    latest,
    states.places,
    reasons.places,
    causes.places,
    rows.map((r) => (r.countsAsAttempt ? 1 : 0)),
    rows.map((r) => r.retryInMs),
    outcomes.map((o) => o.id),
    outcomes.map((o) => waiting.get(o.id)?.requestedAt ?? null),
    outcomes.map((o) => o.providerTxnId),
    outcomes.map((o) => o.statusCode),
    reasons.values,
    causes.values,
    states.values,
    rows.map((r) => r.place),
  ]);
}

async function moveUnknown(
  sql: Sql,
  outcomes: readonly SubmissionOutcome[],
): Promise<{ readonly moved: number; readonly replayed: readonly string[] }> {
  let moved = 0;
  const ids = outcomes.map((o) => o.id);
  const accepted = byId(outcomes.flatMap((o) => o.rows.filter((r) => r.to === 'submitted')));
  for (const rows of inChunks(accepted))
    moved += await countOf(sql, LATE_ACCEPTED, [
      ...sortedRowKeys(rows),
      ids,
      outcomes.map((o) => o.providerTxnId),
      outcomes.map((o) => o.statusCode),
    ]);
  const absent = byId(outcomes.flatMap((o) => o.rows.filter((r) => r.to === 'rejected' || r.to === 'retry')));
  const failed: RowRef[] = [];
  for (const rows of inChunks(absent))
    failed.push(
      ...(await rowsOf<RowRef>(sql, LATE_ABSENT, [
        ...sortedRowKeys(rows),
        ids,
        rows.map((r) => `late_${r.reason ?? 'refusal'}`),
        rows.map((r) => r.cause),
      ])),
    );
  // What was proven not sent is not lost: it is sent again by itself, unless its sender wants no second attempt. What was
  // refused for good is not.
  const again = new Set(absent.filter((r) => r.to === 'retry').map((r) => r.id));
  const replays = await replayProven(
    sql,
    failed.filter((row) => again.has(row.id)),
    'late proof that it was not sent',
  );
  return {
    moved: moved + failed.length,
    replayed: replays.flatMap((r) => (r.answer === 'created' ? (r.lane ?? []) : [])),
  };
}
