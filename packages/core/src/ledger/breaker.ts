import { type BreakerEvent, type BreakerVerdict, foldBreaker } from '../domain/breaker.ts';
import { LOCK_ROUTE } from './mark.ts';
import { NEXT_PROBE_AT } from './probe-pause.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';

/** What became of a route's breaker in one transaction. */
export interface BreakerMove {
  readonly routeId: string;
  readonly became: 'open' | 'closed';
  readonly reason: string | null;
}

interface BreakerRow {
  readonly state: 'closed' | 'open';
  readonly failures: number;
  readonly threshold: number;
  readonly openedAt: Date | null;
  readonly closedAt: Date | null;
}

const READ = `select r.breaker_state as state, r.breaker_failures as failures, r.breaker_threshold as threshold,
    r.breaker_opened_at as "openedAt", r.breaker_closed_at as "closedAt"
  from sendledger.route r where r.id = $1`;

/**
 * Whether these signs may change the breaker's count; then the route is locked, first of all locks, and the answer is true.
 * Successes on a healthy route, nearly all there is, touch nothing. Read without a lock: a failure that another transaction is
 * about to write is not undone by a success that came with it, which costs nothing.
 */
export async function lockForBreaker(
  sql: Sql,
  routeId: string,
  signs: readonly BreakerEvent['sign'][],
): Promise<boolean> {
  if (signs.length === 0) return false;
  if (signs.every((sign) => sign === 'alive')) {
    const [row] = await rowsOf<BreakerRow>(sql, READ, [routeId]);
    if (row === undefined || (row.state === 'closed' && row.failures === 0)) return false;
  }
  await sql.query(LOCK_ROUTE, [routeId]);
  return true;
}

/** Folds outcomes into the breaker of a route that {@link lockForBreaker} has locked. */
export async function applyToBreaker(
  sql: Sql,
  routeId: string,
  events: readonly BreakerEvent[],
): Promise<BreakerMove | null> {
  if (events.length === 0) return null;
  const [row] = await rowsOf<BreakerRow>(sql, READ, [routeId]);
  if (row === undefined) return null;
  const times = { openedAtMs: row.openedAt?.getTime() ?? null, closedAtMs: row.closedAt?.getTime() ?? null };
  const verdict = foldBreaker({ ...row, ...times }, events);
  if (verdict.state === row.state && verdict.failures === row.failures) return null;
  await writeBreaker(sql, routeId, verdict);
  if (verdict.opened !== null && row.state === 'closed') return { routeId, became: 'open', reason: verdict.opened };
  return verdict.closed ? { routeId, became: 'closed', reason: null } : null;
}

async function writeBreaker(sql: Sql, routeId: string, verdict: BreakerVerdict): Promise<void> {
  await sql.query(
    `update sendledger.route r
     set breaker_state = $2, breaker_failures = $3, updated_at = now(),
       breaker_opened_at = case when $2 = 'closed' then null when r.breaker_state = 'closed' then clock_timestamp() else r.breaker_opened_at end,
       breaker_closed_at = case when $2 = 'closed' and r.breaker_state = 'open' then clock_timestamp() else r.breaker_closed_at end,
       breaker_reason = case when $2 = 'closed' then null else coalesce($4, r.breaker_reason) end,
       probes = case when r.breaker_state = $2 then r.probes else 0 end,
       -- It was said about this outage, and not about the next.
       probe_forced = r.probe_forced and r.breaker_state = $2,
       probe_at = case when $2 = 'closed' then null
         when r.breaker_state = 'closed' then clock_timestamp() + r.probe_first_ms * interval '1 ms' else r.probe_at end
     where r.id = $1`,
    [routeId, verdict.state, verdict.failures, verdict.opened],
  );
}

/**
 * A due probe that is not worth sending: the provider's free call already says that it would fail. It costs one interval. One that
 * a person forced meanwhile stays due.
 */
export async function deferProbe(sql: Sql, routeId: string, reason: string): Promise<boolean> {
  const deferred = await countOf(
    sql,
    `update sendledger.route r set probe_at = ${NEXT_PROBE_AT}, probes = r.probes + 1, breaker_reason = $2, updated_at = now()
     where r.id = $1 and r.breaker_state = 'open' and r.probe_at <= clock_timestamp() and not r.probe_forced`,
    [routeId, reason],
  );
  return deferred === 1;
}

/** closed → open for every route of a provider's account, because the account itself says that nothing will pass. */
export async function openBreakersOf(sql: Sql, provider: string, account: string, reason: string): Promise<string[]> {
  const opened = await rowsOf<{ name: string }>(
    sql,
    `with locked as materialized (
       select r.id from sendledger.route r where r.provider = $1 and r.account = $2 and r.breaker_state = 'closed' and r.retired_at is null
       order by r.id for no key update
     )
     update sendledger.route r set breaker_state = 'open', breaker_opened_at = clock_timestamp(), breaker_reason = $3, probes = 0, probe_forced = false,
       probe_at = clock_timestamp() + r.probe_first_ms * interval '1 ms', updated_at = now()
     where r.id in (select l.id from locked l) and r.breaker_state = 'closed' returning r.name`,
    [provider, account, reason],
  );
  return opened.map((row) => row.name);
}

/**
 * A person wants to know now: the next probe is due at once. With `force` it is sent whatever the free call would say, since that
 * call may be what is broken. Answers whether the breaker is open at all.
 */
export async function probeNow(
  sql: Sql,
  routeId: string,
  options: { readonly force?: boolean } = {},
): Promise<boolean> {
  const moved = await countOf(
    sql,
    `update sendledger.route r set probe_at = clock_timestamp(), probes = 0, probe_forced = r.probe_forced or $2::boolean, updated_at = now()
     where r.id = $1 and r.breaker_state = 'open'`,
    [routeId, options.force ?? false],
  );
  return moved === 1;
}
