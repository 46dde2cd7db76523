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
    (select m.tenant_id, m.due_at from sendledger.outbound_message m
     where m.route_id = $1 and m.message_class = $2::sendledger.message_class and m.state in ('pending', 'retry')
     order by m.tenant_id, m.due_at limit 1)
    union all
    select next.tenant_id, next.due_at from step cross join lateral (
      select m.tenant_id, m.due_at from sendledger.outbound_message m
      where m.route_id = $1 and m.message_class = $2::sendledger.message_class and m.state in ('pending', 'retry')
        and m.tenant_id > step.tenant_id
      order by m.tenant_id, m.due_at limit 1) next
  )
  select step.tenant_id as "tenantId", coalesce((select t.weight from sendledger.tenant t where t.tenant_id = step.tenant_id), 1) as weight
  from step where step.due_at <= now() limit $3`;

/** A tenant that has something waiting in a lane. */
export interface WaitingTenant {
  readonly tenantId: string;
  readonly weight: number;
}

/** Every tenant that has something due in a lane; more than a thousand wait for a round in which others are gone. */
export function tenantsWaiting(sql: Sql, lane: LaneRef): Promise<WaitingTenant[]> {
  return rowsOf<WaitingTenant>(sql, TENANTS_WAITING, [lane.routeId, lane.messageClass, MOST_TENANTS]);
}

/** Rows that are owed to a tenant, by its weight; below zero: it had more than its part. */
export type Credits = ReadonlyMap<string, number>;

/** A tenant that waits for its time gathers no claim to be served alone afterwards. */
const MOST_CREDIT = 50;

/**
 * Shares of a limit by weight: whole parts first, and what is left of it to those that are owed most. Who has no part comes after those
 * that have one, with a row each, since of these some may have nothing that is due. Pure.
 */
export function sharesOf(tenants: readonly WaitingTenant[], limit: number, credits: Credits = new Map()): Turn[] {
  const sum = tenants.reduce((total, tenant) => total + tenant.weight, 0);
  const parts = tenants
    .map(({ tenantId, weight }) => {
      const part = (limit * weight) / sum;
      const whole = Math.floor(part);
      return { tenantId, whole, owed: (credits.get(tenantId) ?? 0) + part - whole };
    })
    .toSorted((a, b) => b.owed - a.owed);
  let left = limit - parts.reduce((total, { whole }) => total + whole, 0);
  const shares = parts.map(({ tenantId, whole, owed }) => {
    const extra = left > 0 ? 1 : 0;
    left -= extra;
    return { tenantId, share: whole + extra, owed };
  });
  return [...shares.filter(({ share }) => share > 0), ...shares.filter(({ share }) => share === 0)].map(
    ({ tenantId, share }) => ({ tenantId, share: Math.max(1, share) }),
  );
}

/** What is owed after a claim: to each its part of what was picked, less what was its own. Pure. */
export function chargeTurns(
  tenants: readonly WaitingTenant[],
  picked: readonly string[],
  credits: Credits = new Map(),
): Credits {
  const sum = tenants.reduce((total, tenant) => total + tenant.weight, 0);
  const taken = Map.groupBy(picked, (tenantId) => tenantId);
  return new Map(
    tenants.map(({ tenantId, weight }) => {
      const owed = (credits.get(tenantId) ?? 0) + (picked.length * weight) / sum - (taken.get(tenantId)?.length ?? 0);
      return [tenantId, Math.min(Math.max(owed, -MOST_CREDIT), MOST_CREDIT)];
    }),
  );
}
