import type { MessageClass } from '../domain/state.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface LanePrice {
  readonly routeId: string;
  readonly route: string;
  readonly messageClass: MessageClass;
  readonly hasLane: boolean;
  /** A price that is valid now and covers every country: `*` or `<class>:*`. */
  readonly everywhere: boolean;
  /** Countries with a price of their own that is valid now. */
  readonly countries: readonly string[];
}

/** For each route and class: is there a lane, and would a claim find a price now. */
export async function lanePrices(sql: Sql): Promise<LanePrice[]> {
  return rowsOf<LanePrice>(
    sql,
    `select r.id as "routeId", r.name as route, c.message_class as "messageClass", l.route_id is not null as "hasLane",
       exists (select from sendledger.rate_card p where p.route_id = r.id and p.valid @> now()
         and p.price_key in ('*', c.message_class::text || ':*')) as everywhere,
       array(select split_part(p.price_key, ':', 2) from sendledger.rate_card p where p.route_id = r.id and p.valid @> now()
         and p.price_key like c.message_class::text || ':__' order by 1) as countries
     from sendledger.route r
     cross join unnest(enum_range(null::sendledger.message_class)) as c(message_class)
     left join sendledger.lane l on l.route_id = r.id and l.message_class = c.message_class
     where r.retired_at is null
     order by r.id, c.message_class`,
  );
}
