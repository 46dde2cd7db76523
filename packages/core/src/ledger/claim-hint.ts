import type { WaitingTenant } from './fair-turns.ts';

/** Where a tenant's waiting rows of a lane begin. */
export interface LaneStart {
  readonly dueAt: Date | '-infinity';
  readonly id: string;
}

/**
 * What a claim learned of a lane, for the next one: who waits, and where their rows begin. Only a hint: behind a start there may be
 * rows that were given back, or whose transaction took long, so it is dropped after a few seconds and with every wake-up. With an old
 * snapshot held open somewhere, a claim from the start would walk over every row that was ever claimed.
 */
export interface LaneHint {
  readonly tenants: readonly WaitingTenant[];
  readonly from: ReadonlyMap<string, LaneStart>;
}

/** A row younger than this may have a sibling whose transaction is not over. */
export const HINT_LAG_MS = 5_000;

/**
 * Behind the last row that was picked of each tenant, or the lag before now where that was a moment ago. Pure.
 *
 * @param at the database's clock at the pick; null where nothing was picked
 */
export function nextHint(
  tenants: readonly WaitingTenant[],
  picked: readonly { readonly tenantId: string; readonly dueAt: Date; readonly id: string }[],
  at: Date | null,
  before: LaneHint | undefined,
): LaneHint | null {
  // Nothing there: the next one looks from the start.
  if (at === null || tenants.length === 0) return null;
  const from = new Map(before?.from ?? []);
  const edge = new Date(at.getTime() - HINT_LAG_MS);
  for (const row of picked) from.set(row.tenantId, row.dueAt < edge ? row : { dueAt: edge, id: '0' });
  return { tenants, from };
}

/** Where a whole lane begins: the first of its tenants' starts. */
export function startOfLane(hint: LaneHint): LaneStart {
  const starts = hint.tenants.map(({ tenantId }) => hint.from.get(tenantId));
  let first: LaneStart | undefined;
  for (const start of starts) {
    if (start === undefined || start.dueAt === '-infinity') return { dueAt: '-infinity', id: '0' };
    if (first === undefined || first.dueAt === '-infinity' || start.dueAt < first.dueAt) first = start;
    else if (start.dueAt.getTime() === first.dueAt.getTime() && BigInt(start.id) < BigInt(first.id)) first = start;
  }
  return first ?? { dueAt: '-infinity', id: '0' };
}
