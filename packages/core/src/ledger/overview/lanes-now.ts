import type { MessageChannel, MessageClass } from '../../domain/state.ts';
import { rowsOf, type Sql } from '../sql.ts';

/** A lane as it stands: what waits at its head, and what keeps it from sending. */
export interface LaneNow {
  readonly routeId: string;
  readonly route: string;
  readonly channel: MessageChannel;
  readonly messageClass: MessageClass;
  readonly retired: boolean;
  /** Seconds since its oldest due message was due; 0 when none is. */
  readonly oldestDueSeconds: number;
  readonly routePausedAt: Date | null;
  readonly routePauseReason: string | null;
  readonly lanePausedAt: Date | null;
  readonly lanePauseReason: string | null;
  readonly breaker: 'closed' | 'open';
  readonly breakerReason: string | null;
  readonly probeAt: Date | null;
  /** The provider told us to wait until then; null: it did not, or the time is over. */
  readonly throttledUntil: Date | null;
  readonly hold: boolean;
  readonly holdReason: string | null;
}

/** Every lane, each by one step into the claim index. */
export async function lanesNow(sql: Sql): Promise<LaneNow[]> {
  return rowsOf<LaneNow>(
    sql,
    `select r.id as "routeId", r.name as route, r.channel, l.message_class as "messageClass", r.retired_at is not null as retired,
       coalesce(extract(epoch from now() - d.due_at), 0)::double precision as "oldestDueSeconds",
       r.paused_at as "routePausedAt", r.pause_reason as "routePauseReason", l.paused_at as "lanePausedAt", l.pause_reason as "lanePauseReason",
       r.breaker_state as breaker, r.breaker_reason as "breakerReason", r.probe_at as "probeAt",
       case when r.throttled_until > now() then r.throttled_until end as "throttledUntil", r.hold, r.hold_reason as "holdReason"
     from sendledger.lane l join sendledger.route r on r.id = l.route_id
     left join lateral (
       select m.due_at from sendledger.outbound_message m
       where m.route_id = l.route_id and m.message_class = l.message_class and m.state in ('pending', 'retry') and m.due_at <= now()
       order by m.due_at limit 1
     ) d on true
     order by r.channel, r.id, l.message_class`,
  );
}
