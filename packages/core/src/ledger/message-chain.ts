import type { RowRef } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

/** A message as a link of its chain: each was made because the one before it ended. */
export interface ChainLink extends RowRef {
  /** 0: the message itself; below: what it replaces; above: what replaced it. */
  readonly step: number;
  readonly state: string;
  readonly reason: string | null;
  readonly channel: string;
}

/** Links followed in each direction. */
const LONGEST = 20;

/** The message, what it replaces and what replaced it, the oldest first. Each step is one row by its key. */
export async function messageChain(sql: Sql, ref: RowRef): Promise<ChainLink[]> {
  return rowsOf<ChainLink>(
    sql,
    `with recursive before as (
       select m.id, m.created_at, m.state, m.state_reason, m.channel, m.replaces_id, m.replaces_created_at, 0 as step
       from sendledger.outbound_message m where m.id = $1 and m.created_at = $2
       union all
       select o.*, b.step - 1 from before b cross join lateral (
         select m.id, m.created_at, m.state, m.state_reason, m.channel, m.replaces_id, m.replaces_created_at
         from sendledger.outbound_message m where m.id = b.replaces_id and m.created_at = b.replaces_created_at limit 1) o
       where b.step > -${LONGEST}
     ), after as (
       select b.id, b.created_at, b.state, b.state_reason, b.channel, b.step from before b where b.step = 0
       union all
       select o.*, a.step + 1 from after a cross join lateral (
         select m.id, m.created_at, m.state, m.state_reason, m.channel
         from sendledger.outbound_message m where m.replaces_id = a.id limit 1) o
       where a.step < ${LONGEST}
     )
     select x.id, x.created_at as "createdAt", x.step, x.state, x.state_reason as reason, x.channel from (
       select b.id, b.created_at, b.step, b.state, b.state_reason, b.channel from before b where b.step < 0
       union all select a.id, a.created_at, a.step, a.state, a.state_reason, a.channel from after a
     ) x order by x.step`,
    [ref.id, ref.createdAt],
  );
}
