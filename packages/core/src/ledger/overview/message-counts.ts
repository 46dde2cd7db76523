import type { MessageChannel, MessageClass, MessageState } from '../../domain/state.ts';
import { rowsOf, type Sql } from '../sql.ts';

/** Rows of one class, channel and state. */
export interface StateCount {
  readonly messageClass: MessageClass;
  readonly channel: MessageChannel;
  readonly state: MessageState;
  readonly rows: number;
}

/**
 * Everything that can still move, however old. What waits is read lane by lane from the claim index, what is on its way from the
 * index of rows whose request is open: both hold nothing else, so a long past costs nothing.
 */
export async function countOpen(sql: Sql): Promise<StateCount[]> {
  const waiting = await rowsOf<StateCount>(
    sql,
    `select l.message_class as "messageClass", r.channel, w.state, sum(w.rows)::double precision as rows
     from sendledger.lane l join sendledger.route r on r.id = l.route_id
     cross join lateral (
       select m.state, count(*) as rows from sendledger.outbound_message m
       where m.route_id = l.route_id and m.message_class = l.message_class and m.state in ('pending', 'retry')
       group by m.state
     ) w
     group by l.message_class, r.channel, w.state`,
  );
  const onTheWay = await rowsOf<StateCount>(
    sql,
    `select m.message_class as "messageClass", m.channel, m.state, count(*)::double precision as rows
     from sendledger.outbound_message m where m.state in ('claimed', 'submitted', 'unknown')
     group by m.message_class, m.channel, m.state`,
  );
  return [...waiting, ...onTheWay];
}

/** What was enqueued lately, by what became of it so far. */
export interface LateCount extends StateCount {
  /** Of the last hour, and not held for later: those that a provider was asked for. */
  readonly requested: number;
  /** Of these, those that it accepted. */
  readonly submitted: number;
}

/** Messages enqueued within `hours`; the rows of that time and no others, by the index on their creation. */
export async function countLately(sql: Sql, hours: number): Promise<LateCount[]> {
  return rowsOf<LateCount>(
    sql,
    `select m.message_class as "messageClass", m.channel, m.state, count(*)::double precision as rows,
       (count(*) filter (where x.lately and m.requested_at is not null))::double precision as requested,
       (count(*) filter (where x.lately and m.submitted_at is not null))::double precision as submitted
     from sendledger.outbound_message m
     -- What a provider holds for later waits for no receipt yet.
     cross join lateral (select m.created_at > now() - interval '1 hour' and (m.scheduled_for is null or m.scheduled_for <= now()) as lately) x
     where m.created_at > now() - $1 * interval '1 hour'
     group by m.message_class, m.channel, m.state`,
    [hours],
  );
}
