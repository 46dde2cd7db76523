import type { ReceiptSource } from '../receipt-record.ts';
import { rowsOf, type Sql } from '../sql.ts';

/** How a receipt may come. */
export const RECEIPT_SOURCES: readonly ReceiptSource[] = ['poll', 'push', 'day', 'reply'];

/** An age by source beyond this is not looked for, and reads as this: seconds. */
export const LONGEST_RECEIPT_AGE = 3_600;
/** A receipt bears the time at which its transaction began, and is seen when that has ended. */
const OVERLAP_MS = 120_000;

/** Seconds since the last receipt of any kind; null: there never was one. */
export async function lastReceiptSeconds(sql: Sql): Promise<number | null> {
  const [row] = await rowsOf<{ seconds: number }>(
    sql,
    `select greatest(0, extract(epoch from now() - d.received_at))::double precision as seconds
     from sendledger.delivery_receipt d order by d.received_at desc limit 1`,
  );
  return row?.seconds ?? null;
}

/**
 * Age of the newest receipt by how it came, so that an alarm can say that pushes stopped while polls go on. Evidence that comes
 * again is no new receipt. Each look reads what came since the last one.
 */
export class ReceiptAges {
  readonly #newest = new Map<string, Date>();
  #lookedAt: Date | null = null;

  async look(sql: Sql): Promise<Readonly<Record<ReceiptSource, number>>> {
    const since = this.#lookedAt === null ? null : new Date(this.#lookedAt.getTime() - OVERLAP_MS);
    const rows = await rowsOf<{ now: Date; source: string | null; newest: Date | null }>(
      sql,
      `select now() as now, r.source, r.newest from (select 1) one
       left join (
         select r.source, max(r.received_at) as newest from sendledger.delivery_receipt r
         where r.received_at > greatest($1::timestamptz, now() - interval '1 hour')
           and r.received_month >= date_trunc('month', (now() - interval '1 hour') at time zone 'UTC')::date
         group by r.source
       ) r on true`,
      [since],
    );
    for (const { source, newest } of rows) if (source !== null && newest !== null) this.#newest.set(source, newest);
    const now = rows[0]?.now ?? new Date();
    this.#lookedAt = now;
    const age = (source: string) => {
      const seconds = (now.getTime() - (this.#newest.get(source)?.getTime() ?? Number.NEGATIVE_INFINITY)) / 1_000;
      return Math.min(Math.max(seconds, 0), LONGEST_RECEIPT_AGE);
    };
    return { poll: age('poll'), push: age('push'), day: age('day'), reply: age('reply') };
  }
}
