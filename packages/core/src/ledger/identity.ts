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

/** In the order of their ids, as they are locked, and as {@link sortedRowKeys} wants them. */
export function byId<T extends { readonly id: string }>(rows: readonly T[]): readonly T[] {
  return rows.toSorted((a, b) => compareIds(a.id, b.id));
}

/**
 * {@link rowKeys} of rows in the order of their ids. A statement finds a row's place in them with `width_bucket`, which halves and
 * does not walk: of five hundred, nine steps instead of two hundred and fifty. In an array that is not sorted it would find another
 * row's place, and no error, so the order is looked at.
 */
export function sortedRowKeys(refs: readonly RowRef[]): [string[], Date, Date] {
  for (let at = 1; at < refs.length; at++)
    if (compareIds(refs[at - 1]?.id ?? '', refs[at]?.id ?? '') >= 0)
      throw new Error('rows are named in the order of their ids, each once');
  return rowKeys(refs);
}

/** Ids are whole numbers in text, without a sign or leading zeros. */
function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
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
