/** A message of ours that may have reached the provider, and when its record would have been written: by our clock, in ms. */
export interface RequestedRow {
  readonly id: string;
  readonly recipient: string;
  readonly senderId: string | null;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A record of the provider that no message of ours owns yet. */
export interface LooseRecord {
  readonly recipient: string;
  readonly senderId: string | null;
  /** By our clock; null where the record says no readable time, which may then be any. */
  readonly atMs: number | null;
}

export type Correlation<R extends LooseRecord> =
  /** One row and one record. */
  | { readonly kind: 'matched'; readonly record: R }
  /** Never a choice. `together`: as many records as rows, so all were sent, and nobody can say which is which. */
  | {
      readonly kind: 'ambiguous';
      readonly rows: readonly string[];
      readonly records: number;
      readonly together: boolean;
    }
  | { readonly kind: 'not_found' };

/** A sender that nobody named fits every other. */
const sameSender = (a: string | null, b: string | null) =>
  a === null || b === null || a.trim().toUpperCase() === b.trim().toUpperCase();

/**
 * Matches sets, not pairs: rows of one recipient and sender whose windows overlap, directly or through others, against all
 * records that fall into them. Answers for every row.
 */
export function correlate<R extends LooseRecord>(
  rows: readonly RequestedRow[],
  records: readonly R[],
): Map<string, Correlation<R>> {
  const verdicts = new Map<string, Correlation<R>>();
  const recordsOf = Map.groupBy(records, (record) => record.recipient);
  for (const [recipient, ofOne] of Map.groupBy(rows, (row) => row.recipient))
    for (const [id, verdict] of correlateOne(ofOne, recordsOf.get(recipient) ?? [])) verdicts.set(id, verdict);
  return verdicts;
}

function correlateOne<R extends LooseRecord>(
  rows: readonly RequestedRow[],
  records: readonly R[],
): Map<string, Correlation<R>> {
  const sets = new Sets(rows.length + records.length);
  for (const [i, row] of rows.entries()) {
    for (const [j, other] of rows.entries())
      if (j > i && sameSender(row.senderId, other.senderId) && row.fromMs <= other.toMs && other.fromMs <= row.toMs)
        sets.join(i, j);
    for (const [j, record] of records.entries())
      if (sameSender(row.senderId, record.senderId) && within(row, record)) sets.join(i, rows.length + j);
  }
  const verdicts = new Map<string, Correlation<R>>();
  const recordsIn = Map.groupBy(records.entries(), ([j]) => sets.of(rows.length + j));
  for (const [set, members] of Map.groupBy(rows.entries(), ([i]) => sets.of(i))) {
    const found = (recordsIn.get(set) ?? []).map(([, record]) => record);
    const [record] = found;
    const verdict: Correlation<R> =
      record === undefined
        ? { kind: 'not_found' }
        : found.length === 1 && members.length === 1
          ? { kind: 'matched', record }
          : {
              kind: 'ambiguous',
              rows: members.map(([, row]) => row.id),
              records: found.length,
              together: found.length === members.length,
            };
    for (const [, row] of members) verdicts.set(row.id, verdict);
  }
  return verdicts;
}

const within = (row: RequestedRow, record: LooseRecord) =>
  record.atMs === null || (record.atMs >= row.fromMs && record.atMs <= row.toMs);

/** Disjoint sets of small numbers. */
class Sets {
  readonly #parent: number[];

  constructor(size: number) {
    this.#parent = Array.from({ length: size }, (_, i) => i);
  }

  of(i: number): number {
    let root = i;
    for (let up = this.#parent[root] ?? root; up !== root; up = this.#parent[root] ?? root) root = up;
    this.#parent[i] = root;
    return root;
  }

  join(a: number, b: number): void {
    this.#parent[this.of(a)] = this.of(b);
  }
}
