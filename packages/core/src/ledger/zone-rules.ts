import type { RowRef } from './identity.ts';
import { rowKeys } from './identity.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';

/** No change of a zone's rules moved a wall clock by more than a day. */
const HORIZON = `interval '25 hours'`;

/**
 * Wall-clock schedules of the next day whose zone has other rules than when they were read: the instant is made again from the wall
 * clock that was meant. Validity moves with it. Held by a provider, it is asked to send at the new time.
 *
 * @returns messages that moved, and requests that a provider is asked to move
 */
export async function followZoneRules(
  sql: Sql,
  limit: number,
): Promise<{ readonly moved: number; readonly asked: number }> {
  const waiting = await rowsOf<RowRef & { readonly at: Date; readonly offset: number }>(
    sql,
    `${WALL_CLOCKS} and m.state::text in ('pending', 'retry') limit $1 for update of m skip locked`,
    [limit],
  );
  const moved =
    waiting.length === 0
      ? 0
      : await countOf(
          sql,
          `update sendledger.outbound_message m
           set (scheduled_for, scheduled_offset_s, due_at, submit_by, updated_at) = (
             select x.at, ($5::integer[])[x.pos],
               case when m.held_by = 'provider' then m.due_at
                 else sendledger.due_in_window(x.at, l.window_opens, l.window_closes, l.window_zone) end,
               -- As long as it was worth after the time at which it could leave.
               sendledger.due_in_window(x.at, l.window_opens, l.window_closes, l.window_zone)
                 + (m.submit_by - sendledger.due_in_window(m.scheduled_for, l.window_opens, l.window_closes, l.window_zone)), now()
             from (select p.pos, ($4::timestamptz[])[p.pos] as at from (select array_position($1::bigint[], m.id) as pos) p) x,
               sendledger.lane l
             where l.route_id = m.route_id and l.message_class = m.message_class)
           where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text in ('pending', 'retry')`,
          [...rowKeys(waiting), waiting.map((row) => row.at), waiting.map((row) => row.offset)],
        );
  const asked = await countOf(
    sql,
    `with held as materialized (
       select x.submission_id, x.submission_created_at, min(x.at) as at, count(*) as messages, count(distinct x.at) as times
       from (${WALL_CLOCKS} and m.state::text = 'submitted' and m.held_by = 'provider' and m.provider_txn_id is not null limit $1) x
       group by 1, 2
     )
     insert into sendledger.schedule_change (tenant_id, route_id, submission_id, submission_created_at, provider_txn_id, kind, scheduled_for, move_to, requested_by, reason)
     select min(m.tenant_id), min(m.route_id), h.submission_id, h.submission_created_at, min(m.provider_txn_id::text), 'move', min(m.scheduled_for), h.at,
       'sendledger', 'the rules of its zone changed'
     from held h
     join sendledger.outbound_message m on m.submission_id = h.submission_id and m.state in ('submitted', 'unknown')
     where h.times = 1 and h.at > now()
     group by h.submission_id, h.submission_created_at, h.at, h.messages
     -- A request has one time: where its recipients now want two, it stays.
     having count(*) = h.messages
     on conflict do nothing`,
    [limit],
  );
  return { moved, asked };
}

/** Wall clocks to come that the present rules put at another instant. */
export const WALL_CLOCKS = `select m.id, m.created_at as "createdAt", m.submission_id, m.submission_created_at, w.first as at,
    extract(epoch from w.local - (w.first at time zone 'UTC'))::integer as offset
  from sendledger.outbound_message m
  cross join lateral (
    select x.local, (sendledger.wall_clock(x.local, m.scheduled_tz)).first as first
    from (select (m.scheduled_for at time zone 'UTC') + m.scheduled_offset_s * interval '1 s' as local) x
  ) w
  where m.scheduled_offset_s is not null and m.scheduled_for > now() and m.scheduled_for < now() + ${HORIZON} and w.first <> m.scheduled_for
    -- An instant that still shows the clock that was meant stays: it may be the second of a repeated hour.
    and m.scheduled_for at time zone m.scheduled_tz <> w.local`;
