import type { MessageClass } from '../domain/state.ts';

/** A message or submission by its whole key. `createdAt` has milliseconds, as in the table: the pair is exact. */
export interface RowRef {
  readonly id: string;
  readonly createdAt: Date;
}

/** Route × message class: the unit of queueing. */
export interface LaneRef {
  readonly routeId: string;
  readonly messageClass: MessageClass;
}

/**
 * `[ids, earliest, latest]`: statements on hot tables name rows by `id = any($1)` and bound `created_at` to prune partitions.
 * A state beside such keys is compared as text. Compared as it is, it matches a partial index, and where the statistics are
 * from before a burst that index looks empty: the planner then reads the whole backlog through it instead of the keys.
 */
export function rowKeys(refs: readonly RowRef[]): [string[], Date, Date] {
  let earliest = Number.POSITIVE_INFINITY;
  let latest = Number.NEGATIVE_INFINITY;
  for (const ref of refs) {
    earliest = Math.min(earliest, ref.createdAt.getTime());
    latest = Math.max(latest, ref.createdAt.getTime());
  }
  if (refs.length === 0) return [[], new Date(0), new Date(0)];
  return [refs.map((ref) => ref.id), new Date(earliest), new Date(latest)];
}

/** A row that a statement moved, as a log line names it. */
export interface MovedRow {
  readonly attemptKey: string;
  readonly state: string;
  readonly reason: string | null;
  readonly submissionId: string | null;
}

/** `returning` this to get {@link MovedRow}s. */
export const MOVED_ROW = `m.attempt_key as "attemptKey", m.state::text as state, m.state_reason as reason, m.submission_id as "submissionId"`;
