import type { LaneRef } from './identity.ts';
import { countOf, type Sql } from './sql.ts';

/**
 * A pause writes the route's row first, as everything does that a mark has to respect: a mark holds that row while it looks,
 * so the pause waits for the marks that are under way, and no mark after its commit can miss it. Run each inside one
 * transaction (`durably`). They answer whether there is such a route or lane.
 */
export async function pauseRoute(sql: Sql, routeId: string, reason: string): Promise<boolean> {
  const paused = await countOf(
    sql,
    `update sendledger.route set paused_at = coalesce(paused_at, now()), pause_reason = $2, updated_at = now() where id = $1`,
    [routeId, reason],
  );
  return paused === 1;
}

export async function resumeRoute(sql: Sql, routeId: string): Promise<boolean> {
  const resumed = await countOf(
    sql,
    `update sendledger.route set paused_at = null, pause_reason = null, updated_at = now() where id = $1`,
    [routeId],
  );
  return resumed === 1;
}

export async function pauseLane(sql: Sql, lane: LaneRef, reason: string): Promise<boolean> {
  await touchRoute(sql, lane.routeId);
  const paused = await countOf(
    sql,
    `update sendledger.lane set paused_at = coalesce(paused_at, now()), pause_reason = $3, updated_at = now()
     where route_id = $1 and message_class = $2::sendledger.message_class`,
    [lane.routeId, lane.messageClass, reason],
  );
  return paused === 1;
}

export async function resumeLane(sql: Sql, lane: LaneRef): Promise<boolean> {
  await touchRoute(sql, lane.routeId);
  const resumed = await countOf(
    sql,
    `update sendledger.lane set paused_at = null, pause_reason = null, updated_at = now()
     where route_id = $1 and message_class = $2::sendledger.message_class`,
    [lane.routeId, lane.messageClass],
  );
  return resumed === 1;
}

/** Lock order: the route first. The lane's own row alone would not be waited for by a mark. */
async function touchRoute(sql: Sql, routeId: string): Promise<void> {
  await sql.query('update sendledger.route set updated_at = now() where id = $1', [routeId]);
}
