/** A due row as the claim picked and locked it. */
export interface PickedRow {
  readonly id: string;
  readonly createdAt: Date;
  readonly recipient: string;
  /** Equal for rows that may share a request; null where this row goes alone (OTP, or a route that does not batch). */
  readonly content: string | null;
  /** Past it the row is not worth sending, or may not be. */
  readonly notAfter: Date;
}

export interface PlannedSubmission {
  readonly rows: readonly PickedRow[];
  /** The earliest deadline among the rows: past it the request is not worth sending. */
  readonly notAfter: Date;
}

/**
 * Groups due rows into requests: equal content together, each recipient at most once in a request (the provider would drop
 * the second copy and two rows would share one message), no more than `maxBatch` in one, no more than `room` requests.
 * Order of the rows is kept. What found no room stays due.
 */
export function planSubmissions(
  picked: readonly PickedRow[],
  limits: { readonly maxBatch: number; readonly room: number },
): PlannedSubmission[] {
  const all: { rows: PickedRow[]; recipients: Set<string>; notAfter: Date }[] = [];
  // Per content the submissions that are not full yet, oldest first.
  const filling = new Map<string, (typeof all)[number][]>();

  for (const row of picked) {
    const open = row.content === null ? [] : (filling.get(row.content) ?? []);
    const target = open.find((s) => !s.recipients.has(row.recipient));
    if (target === undefined) {
      if (all.length >= limits.room) continue;
      const fresh = { rows: [row], recipients: new Set([row.recipient]), notAfter: row.notAfter };
      all.push(fresh);
      if (row.content !== null && limits.maxBatch > 1) filling.set(row.content, [...open, fresh]);
      continue;
    }
    target.rows.push(row);
    target.recipients.add(row.recipient);
    if (row.notAfter < target.notAfter) target.notAfter = row.notAfter;
    if (target.rows.length >= limits.maxBatch && row.content !== null)
      filling.set(
        row.content,
        open.filter((s) => s !== target),
      );
  }
  return all.map(({ rows, notAfter }) => ({ rows, notAfter }));
}
