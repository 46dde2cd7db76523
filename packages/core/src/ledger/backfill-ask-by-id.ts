import type { BackfillDay } from './backfill-take.ts';
import { countOf, type Sql } from './sql.ts';

/**
 * The report of a day was read and lost, and the provider gives it once (FC-32): what is open of that day is asked for by id instead,
 * at once, also where nobody looks any more. Answers how many requests that concerns.
 */
export async function askDayById(
  sql: Sql,
  day: Pick<BackfillDay, 'provider' | 'account' | 'day' | 'zone'>,
): Promise<number> {
  return countOf(
    sql,
    `with open as materialized (
       select s.id, s.created_at from sendledger.submission s
       where s.route_id in (select r.id from sendledger.route r where r.provider = $1 and r.account = $2)
         and s.requested_at >= $3::date::timestamp at time zone $4 and s.requested_at < ($3::date + 1)::timestamp at time zone $4
         -- A request is made within a day of its submission's making; the bound leaves out the other months.
         and s.created_at >= ($3::date - 2)::timestamp at time zone 'UTC' and s.created_at < ($3::date + 3)::timestamp at time zone 'UTC'
         and s.state::text in ('accepted', 'ambiguous') and coalesce(s.poll_at, 'infinity') > now()
         and exists (select from sendledger.outbound_message m where m.submission_id = s.id and m.state in ('claimed', 'submitted', 'unknown'))
       -- By id, as everybody locks them: an update alone takes them as it finds them.
       order by s.id for no key update of s
     )
     update sendledger.submission s set poll_at = now()
     where s.id = any (array(select o.id from open o))
       and s.created_at >= (select min(o.created_at) from open o) and s.created_at <= (select max(o.created_at) from open o)`,
    [day.provider, day.account, day.day, day.zone],
  );
}
