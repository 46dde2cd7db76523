import type { ReceiptSource } from '../receipt-record.ts';
import { rowsOf, type Sql } from '../sql.ts';

/** How a receipt may come. */
export const RECEIPT_SOURCES: readonly ReceiptSource[] = ['poll', 'push', 'day', 'reply'];

/** An age by source beyond this is not looked for, and reads as this: seconds. */
const LONGEST_RECEIPT_AGE = 3_600;
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

/** Instants of the newest receipt by how it came; null: none for an hour. */
export type NewestReceipts = Readonly<Record<ReceiptSource, Date | null>>;

/**
 * The newest receipt by how it came, so that an alarm can say that pushes stopped while polls go on. Evidence that comes again is no new
 * receipt. The first look reads an hour, each later one what came since; so it is part of the census.
 */
export class ReceiptWatch {
  readonly #newest = new Map<string, Date>();
  #lookedAt: Date | null = null;

  async look(sql: Sql): Promise<NewestReceipts> {
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
    this.#lookedAt = rows[0]?.now ?? new Date();
    const of = (source: string) => this.#newest.get(source) ?? null;
    return { poll: of('poll'), push: of('push'), day: of('day'), reply: of('reply') };
  }
}

/** Seconds since the newest of each, the longest where there is none. */
export function receiptAges(newest: NewestReceipts | null, now: Date): Readonly<Record<ReceiptSource, number>> {
  const age = (at: Date | null | undefined) =>
    Math.min(Math.max((now.getTime() - (at?.getTime() ?? Number.NEGATIVE_INFINITY)) / 1_000, 0), LONGEST_RECEIPT_AGE);
  return { poll: age(newest?.poll), push: age(newest?.push), day: age(newest?.day), reply: age(newest?.reply) };
}
