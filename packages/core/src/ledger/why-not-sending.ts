import type { LaneRef } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

/**
 * Which conditions of the mark are not met for a lane right now, in words an operator can act on. Empty: nothing holds it.
 * Only an explanation: the mark is what decides.
 */
export async function whyNotSending(sql: Sql, lane: LaneRef, environment: string): Promise<string[]> {
  const [row] = await rowsOf<Record<string, string | null>>(
    sql,
    `select
       case when r.paused_at is not null then 'route ' || r.name || ' is paused: ' || coalesce(r.pause_reason, 'no reason given') end as a,
       case when l.paused_at is not null then 'lane ' || r.name || '/' || l.message_class || ' is paused: ' || coalesce(l.pause_reason, 'no reason given') end as b,
       case when r.breaker_state <> 'closed' then 'the breaker of route ' || r.name || ' is open: ' || coalesce(r.breaker_reason, 'no reason given')
         || '; the next probe is due ' || to_char(r.probe_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') end as c,
       case when r.throttled_until > clock_timestamp() then 'the provider told route ' || r.name || ' to wait until '
         || to_char(r.throttled_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') end as t,
       case when r.rate_per_second = 0 then 'the rate of route ' || r.name || ' is 0' end as z,
       case when r.hold then 'route ' || r.name || ' is on hold: ' || coalesce(r.hold_reason, 'no reason given') end as d,
       case when e.status <> 'ok' then 'the dataset is in ' || e.status || ': ' || coalesce(e.status_reason, 'no reason given') end as e,
       case when e.environment <> $3 then 'this database belongs to environment ' || e.environment || ', this process to ' || $3 end as f,
       case when e.system_identifier <> (select c.system_identifier::text from pg_control_system() c) then 'the database was copied to another cluster' end as g,
       case when e.timeline <> substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) then 'the cluster was promoted or restored: timeline ' || e.timeline || ' is over' end as h
     from sendledger.route r
     join sendledger.lane l on l.route_id = r.id and l.message_class = $2::sendledger.message_class
     cross join sendledger.dataset_epoch e
     where r.id = $1`,
    [lane.routeId, lane.messageClass, environment],
  );
  return row === undefined ? ['there is no such lane'] : Object.values(row).filter((reason) => reason !== null);
}
