import { MESSAGE_CLASSES, type MessageClass } from '../domain/state.ts';
import { rowsOf, type Sql } from './sql.ts';

export interface ClassGauge {
  readonly messageClass: MessageClass;
  /** Seconds since the oldest due row of the class was due; 0 when none is: a gap in a series never fires an alarm. */
  readonly oldestDueSeconds: number;
  /** Rows still waiting for a receipt, over everything submitted in the last hour; 0 when nothing was submitted. */
  readonly pendingRatio: number;
}

/**
 * The two gauges to have before the first message. The age is read from the claim index lane by lane. The ratio's
 * denominator is everything that was submitted: over delivered plus failed it would freeze when receipts stop.
 */
export async function classGauges(sql: Sql): Promise<ClassGauge[]> {
  const ages = await rowsOf<{ message_class: MessageClass; seconds: string }>(
    sql,
    `select l.message_class, coalesce(max(extract(epoch from now() - d.due_at)), 0)::text as seconds
     from sendledger.lane l
     left join lateral (
       select m.due_at from sendledger.outbound_message m
       where m.route_id = l.route_id and m.message_class = l.message_class and m.state in ('pending', 'retry') and m.due_at <= now()
       order by m.due_at limit 1
     ) d on true
     group by l.message_class`,
  );
  const ratios = await rowsOf<{ message_class: MessageClass; ratio: string | null }>(
    sql,
    `select m.message_class, (count(*) filter (where m.state = 'submitted'))::numeric
         / nullif(count(*) filter (where m.state in ('submitted', 'delivered', 'failed', 'expired')), 0) as ratio
     from sendledger.outbound_message m
     where m.created_at > now() - interval '1 hour'
       -- What a provider holds for later waits for no receipt yet.
       and (m.scheduled_for is null or m.scheduled_for <= now())
     group by m.message_class`,
  );
  return MESSAGE_CLASSES.map((messageClass) => ({
    messageClass,
    oldestDueSeconds: Number(ages.find((a) => a.message_class === messageClass)?.seconds ?? 0),
    pendingRatio: Number(ratios.find((r) => r.message_class === messageClass)?.ratio ?? 0),
  }));
}

/** Rows in the default partitions. Anything but 0 is an alarm: it blocks making the month the rows belong to. */
export async function strayRows(sql: Sql): Promise<number> {
  const [row] = await rowsOf<{ rows: string }>(
    sql,
    `select ((select count(*) from (select from sendledger.outbound_message_default limit 1000) a)
       + (select count(*) from (select from sendledger.submission_default limit 1000) b)
       + (select count(*) from (select from sendledger.delivery_receipt_default limit 1000) c))::text as rows`,
  );
  return Number(row?.rows ?? 0);
}

/** Makes the months ahead that are missing. */
export async function ensureMonths(sql: Sql, ahead: number): Promise<void> {
  await sql.query('select sendledger.ensure_months($1)', [ahead]);
}
