import { rowsOf } from '@sendledger/core/ledger';
import { type AppContext, Gauge } from '@sendledger/worker';

/** An age beyond this is not looked for, and reads as this. */
const LONGEST_S = 3_600;
/** A receipt bears the time at which its transaction began, and is seen when that has ended. */
const OVERLAP_MS = 120_000;
const SOURCES = ['poll', 'push'] as const;

/**
 * Age of the newest receipt by how it came, so that an alarm can say that pushes stopped while polls go on. Evidence that comes
 * again is no new receipt. Each look reads what came since the last one.
 */
export function receiptAge(context: AppContext): () => Promise<void> {
  const age = new Gauge({
    name: 'sendledger_receipt_age_seconds',
    help: 'Seconds since the last receipt that was new, by how it came; 3600 where there was none for an hour.',
    labelNames: ['source'],
    registers: [context.registry],
  });
  const newest = new Map<string, Date>();
  for (const source of SOURCES) age.set({ source }, LONGEST_S);
  let lookedAt: Date | null = null;

  return async () => {
    const since = lookedAt === null ? null : new Date(lookedAt.getTime() - OVERLAP_MS);
    const rows = await rowsOf<{ now: Date; source: string | null; newest: Date | null }>(
      context.sql,
      `select now() as now, r.source, r.newest from (select 1) one
       left join (
         select r.source, max(r.received_at) as newest from sendledger.delivery_receipt r
         where r.received_at > greatest($1::timestamptz, now() - interval '1 hour')
           and r.received_month >= date_trunc('month', (now() - interval '1 hour') at time zone 'UTC')::date
           and r.source = any ($2::text[])
         group by r.source
       ) r on true`,
      [since, SOURCES],
    );
    for (const row of rows) if (row.source !== null && row.newest !== null) newest.set(row.source, row.newest);
    const now = rows[0]?.now ?? new Date();
    lookedAt = now;
    for (const source of SOURCES) {
      const seconds = (now.getTime() - (newest.get(source)?.getTime() ?? Number.NEGATIVE_INFINITY)) / 1_000;
      age.set({ source }, Math.min(Math.max(seconds, 0), LONGEST_S));
    }
  };
}
