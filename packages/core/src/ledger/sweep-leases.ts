import { applyToBreaker, type BreakerMove, lockForBreaker } from './breaker.ts';
import { MOVED_ROW, type MovedRow, rowKeys } from './identity.ts';
import { type Released, release } from './release.ts';
import { rowsOf, type Sql } from './sql.ts';

/**
 * Before the mark: a lease that ran out, a `not_after` that passed, or a breaker that opened gives the rows back. Nothing was
 * sent, since nothing is sent without a mark. A bounded batch, safe in many copies.
 */
export async function sweepOpenLeases(sql: Sql, limit: number): Promise<Released> {
  const rows = await rowsOf<{ id: string; created_at: Date }>(
    sql,
    `select s.id, s.created_at from sendledger.submission s
     where s.state = 'open' and (s.lease_until <= clock_timestamp() or s.not_after <= clock_timestamp()
       or (not s.is_probe and s.route_id in (select r.id from sendledger.route r where r.breaker_state = 'open')))
     order by s.id limit $1 for update skip locked`,
    [limit],
  );
  return release(
    sql,
    rows.map((row) => ({ id: row.id, createdAt: row.created_at })),
  );
}

export interface LostTrack {
  readonly submissions: number;
  readonly rows: number;
  readonly breakers: readonly BreakerMove[];
}

/**
 * After the mark: a lease that ran out means that nobody can say whether the request left. The submission is ambiguous, its
 * rows are unknown, and only evidence moves them. Never back to pending. Each counts for the breaker: a worker that dies on
 * every request would else send one after the other into the dark. `moved` is told of each row, for the log.
 */
export async function sweepMarkedLeases(
  sql: Sql,
  limit: number,
  moved: (row: MovedRow) => void = () => undefined,
): Promise<LostTrack> {
  const routes = await rowsOf<{ id: string }>(
    sql,
    `select distinct s.route_id as id from sendledger.submission s
     where s.state = 'marked' and s.lease_until <= clock_timestamp() order by s.route_id`,
  );
  if (routes.length === 0) return { submissions: 0, rows: 0, breakers: [] };
  for (const route of routes) await lockForBreaker(sql, route.id, ['failure']);
  const lost = await rowsOf<{ id: string; created_at: Date; requested_at: Date; route_id: string }>(
    sql,
    `with expired as materialized (
       select s.id, s.created_at from sendledger.submission s
       where s.state = 'marked' and s.lease_until <= clock_timestamp() and s.route_id = any ($2::bigint[])
       order by s.id limit $1 for update skip locked
     )
     update sendledger.submission s
     set state = 'ambiguous', responded_at = now(), outcome_reason = 'lease_expired', poll_at = now()
     where s.id = any (array(select e.id from expired e))
       and s.created_at >= (select min(e.created_at) from expired e) and s.created_at <= (select max(e.created_at) from expired e)
       and s.state::text = 'marked'
     returning s.id, s.created_at, s.requested_at, s.route_id`,
    [limit, routes.map((route) => route.id)],
  );
  if (lost.length === 0) return { submissions: 0, rows: 0, breakers: [] };
  const [ids] = rowKeys(lost.map((s) => ({ id: s.id, createdAt: s.created_at })));
  const rows = await rowsOf<MovedRow>(
    sql,
    `update sendledger.outbound_message m
     set state = 'unknown', state_reason = 'lease_expired', attempt_count = m.attempt_count + 1, updated_at = now(),
         requested_at = ($2::timestamptz[])[array_position($1::bigint[], m.submission_id)]
     where m.submission_id = any ($1::bigint[]) and m.state = 'claimed'
     returning ${MOVED_ROW}`,
    [ids, lost.map((s) => s.requested_at)],
  );
  for (const row of rows) moved(row);
  const breakers: BreakerMove[] = [];
  for (const [routeId, of] of Map.groupBy(lost, (s) => s.route_id)) {
    const event = { sign: 'failure', probe: false, reason: 'ambiguous: lease_expired' } as const;
    const move = await applyToBreaker(
      sql,
      routeId,
      of.map((s) => ({ ...event, requestedAtMs: s.requested_at.getTime() })),
    );
    if (move !== null) breakers.push(move);
  }
  return { submissions: lost.length, rows: rows.length, breakers };
}
