import type { MessageChannel, MessageClass } from '../../domain/state.ts';
import { rowsOf, type Sql } from '../sql.ts';

/** Seconds that half of the messages stayed under, and that 95 of 100 did. */
export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
}

export interface Latencies {
  readonly messageClass: MessageClass;
  readonly channel: MessageChannel;
  /** From the time it was wanted (enqueued, or its schedule) to the provider's word that it was accepted. Null: none was. */
  readonly submit: Quantiles | null;
  /** From acceptance to delivery, the provider's clock set right by what is known of its offset. Null: none was delivered. */
  readonly delivery: Quantiles | null;
}

/** Of messages enqueued in the last hour. What has not been accepted, or delivered, is in none of them: its age is another figure. */
export async function latencies(sql: Sql): Promise<Latencies[]> {
  const rows = await rowsOf<{
    messageClass: MessageClass;
    channel: MessageChannel;
    submit: (number | null)[] | null;
    delivery: (number | null)[] | null;
  }>(
    sql,
    `select m.message_class as "messageClass", m.channel,
       percentile_disc(array[0.5, 0.95]) within group (order by x.submit) filter (where x.submit is not null) as submit,
       percentile_disc(array[0.5, 0.95]) within group (order by x.delivery) filter (where x.delivery is not null) as delivery
     from sendledger.outbound_message m
     join sendledger.route r on r.id = m.route_id
     cross join lateral (select
       greatest(0, extract(epoch from m.submitted_at - greatest(m.created_at, m.scheduled_for)))::double precision as submit,
       case when m.delivered_at is not null then greatest(0, extract(epoch from m.delivered_at - coalesce(r.clock_offset_ms, 0) * interval '1 ms'
         - greatest(m.submitted_at, m.scheduled_for))) end::double precision as delivery
       where m.submitted_at is not null) x
     where m.created_at > now() - interval '1 hour'
     group by m.message_class, m.channel`,
  );
  return rows.map(({ messageClass, channel, submit, delivery }) => ({
    messageClass,
    channel,
    submit: quantiles(submit),
    delivery: quantiles(delivery),
  }));
}

function quantiles(values: (number | null)[] | null): Quantiles | null {
  const [p50, p95] = values ?? [];
  return typeof p50 === 'number' && typeof p95 === 'number' ? { p50, p95 } : null;
}
