import type { UnresolvedRow } from '@sendledger/core/ledger';

/** Rows resolved together: those of one account whose requests lie within an hour of each other. */
const SPAN_MS = 3_600_000;
/** Rows of one round, and of one span. */
export const ROWS_AT_ONCE = 500;

/** Rows whose requests lie close together, so that one read of a few days serves them all. */
export function* inSpans<R extends UnresolvedRow>(rows: readonly R[]): Generator<readonly R[]> {
  let span: R[] = [];
  for (const row of rows.toSorted((a, b) => a.requestedAt.getTime() - b.requestedAt.getTime())) {
    const [first] = span;
    if (
      first !== undefined &&
      (row.requestedAt.getTime() - first.requestedAt.getTime() > SPAN_MS || span.length >= ROWS_AT_ONCE)
    ) {
      yield span;
      span = [];
    }
    span.push(row);
  }
  if (span.length > 0) yield span;
}
