/** Rows named in one statement. A value is found by its row's place in an array, so the work grows with the square of this. */
const CHUNK = 500;

export function* inChunks<T>(rows: readonly T[], size = CHUNK): Generator<readonly T[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}

/**
 * The distinct values, and for each row the place of its own (from 1, as SQL counts). An array of numbers is read at once at
 * any place; one of texts is walked from its start, for every row again.
 */
export function dictionary<T>(all: readonly T[]): {
  readonly values: readonly T[];
  readonly places: readonly number[];
} {
  const places = new Map<T, number>();
  const values: T[] = [];
  return {
    values,
    places: all.map((value) => {
      const known = places.get(value);
      if (known !== undefined) return known;
      values.push(value);
      places.set(value, values.length);
      return values.length;
    }),
  };
}
