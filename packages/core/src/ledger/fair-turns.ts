import type { LaneRef } from './identity.ts';
import { rowsOf, type Sql } from './sql.ts';

/** A tenant that has something waiting in a lane, and how many of its rows one claim takes. */
export interface Turn {
  readonly tenantId: string;
  readonly share: number;
}

/** More tenants than this take their turns in several rounds. */
const MOST_TENANTS = 1_000;

/**
 * Who waits in a lane: one step through the index a tenant, whatever the length of its queue. Two tenants cost as much as two
 * million rows of theirs.
 */
const TENANTS_WAITING = `with recursive step as (
    (select m.tenant_id from sendledger.outbound_message m
     where m.route_id = $1 and m.message_class = $2::sendledger.message_class and m.state in ('pending', 'retry') and m.tenant_id > $3
     order by m.tenant_id limit 1)
    union all
    select (select m.tenant_id from sendledger.outbound_message m
      where m.route_id = $1 and m.message_class = $2::sendledger.message_class and m.state in ('pending', 'retry')
        and m.tenant_id > step.tenant_id
      order by m.tenant_id limit 1)
    from step where step.tenant_id is not null
  )
  select step.tenant_id as "tenantId", coalesce((select t.weight from sendledger.tenant t where t.tenant_id = step.tenant_id), 1) as weight
  from step where step.tenant_id is not null limit $4`;

/** A tenant that has something waiting in a lane. */
export interface WaitingTenant {
  readonly tenantId: string;
  readonly weight: number;
}

/**
 * Every tenant that waits in a lane, beginning behind the one that was served last. Where there are more tenants than rows in a
 * claim, the rest comes in the next rounds.
 *
 * @param after the tenant served last; empty: begin with the first
 */
export async function tenantsWaiting(sql: Sql, lane: LaneRef, after: string): Promise<WaitingTenant[]> {
  const tenants = (from: string) =>
    rowsOf<WaitingTenant>(sql, TENANTS_WAITING, [lane.routeId, lane.messageClass, from, MOST_TENANTS]);
  const behind = await tenants(after);
  const before = after === '' ? [] : (await tenants('')).filter((t) => !behind.some((b) => b.tenantId === t.tenantId));
  return [...behind, ...before];
}

/** Shares of a limit by weight, and one row at least. Pure. */
export function sharesOf(tenants: readonly WaitingTenant[], limit: number): Turn[] {
  const sum = tenants.reduce((total, tenant) => total + tenant.weight, 0);
  return tenants.map(({ tenantId, weight }) => ({ tenantId, share: Math.max(1, Math.floor((limit * weight) / sum)) }));
}

/** The same tenants, beginning behind one of them. Pure. */
export function beginBehind(tenants: readonly WaitingTenant[], after: string): readonly WaitingTenant[] {
  const place = tenants.findIndex((tenant) => tenant.tenantId === after);
  return place < 0 ? tenants : [...tenants.slice(place + 1), ...tenants.slice(0, place + 1)];
}
