import { SendledgerError } from '../../domain/errors.ts';
import { openReview } from '../open-review.ts';
import { countOf, rowsOf, type Sql } from '../sql.ts';
import type { AuditResult } from './open-findings.ts';

const KIND = 'event_count_differs';
const FAILED_KIND = 'events_function_failed';
/** The row of `audit` that says up to when hours were looked at. */
const PROGRESS = 'events_without_messages: looked at up to';

/** Hours that are caught up at most: a day. */
const HOURS_BACK = 24;
/** An hour is looked at when it is over by this much: its transactions have committed by then. */
const SETTLED_AFTER = '10 minutes';

const NAME = /^[a-z_][a-z0-9_]{0,62}\.[a-z_][a-z0-9_]{0,62}$/;

/**
 * The name of the application's function as SQL, quoted.
 *
 * @param name `schema.function`, in lower case
 * @throws SendledgerError SENDLEDGER_CONFIG
 */
export function eventsFunction(name: string): string {
  if (!NAME.test(name))
    throw new SendledgerError(
      'SENDLEDGER_CONFIG',
      'SENDLEDGER_EVENTS_FUNCTION must be schema.function, in lower case letters, digits and _.',
    );
  return name
    .split('.')
    .map((part) => `"${part}"`)
    .join('.');
}

export interface EventHour {
  readonly from: Date;
  readonly to: Date;
}

export interface EventCount {
  readonly eventType: string;
  /** Whole number as text. */
  readonly count: string;
}

/** The whole hours that are over and were not looked at, of the last day, the oldest first. */
export async function hoursToAudit(sql: Sql): Promise<EventHour[]> {
  return rowsOf<EventHour>(
    sql,
    `select h as "from", h + interval '1 hour' as "to"
     from generate_series(
       greatest(
         date_trunc('hour', now() - interval '${SETTLED_AFTER}', 'UTC') - interval '${HOURS_BACK} hours',
         (select a.last_run_at from sendledger.audit a where a.name = $1)),
       date_trunc('hour', now() - interval '${SETTLED_AFTER}', 'UTC') - interval '1 hour',
       interval '1 hour') h
     order by h`,
    [PROGRESS],
  );
}

/**
 * Asks the application how many events an hour had. In a transaction of its own, which is read only and ends after a while: what
 * is called here is not ours.
 */
export async function countEvents(sql: Sql, fn: string, hour: EventHour): Promise<EventCount[]> {
  await sql.query(`set local transaction_read_only = on`);
  await sql.query(`set local statement_timeout = '30s'`);
  const rows = await rowsOf<{ event_type: string | null; count: string | null }>(
    sql,
    `select e.event_type::text as event_type, e.count::bigint::text as count from ${fn}($1::timestamptz, $2::timestamptz) e`,
    [hour.from, hour.to],
  );
  return rows.flatMap((row) =>
    row.event_type === null ? [] : [{ eventType: row.event_type, count: row.count ?? '0' }],
  );
}

/**
 * Compares the events of an hour with those that have a message: distinct events of first attempts made in it, an hour of
 * rows by the index on their creation. A type that one side does not name counts as none there. One item for each type and
 * hour that differ; the hour is done with this transaction.
 */
export async function compareEvents(
  sql: Sql,
  hour: EventHour,
  events: readonly EventCount[],
  limit: number,
): Promise<AuditResult> {
  const differing = await rowsOf<{ event_type: string; events: string; messages: string }>(
    sql,
    `select coalesce(e.event_type, m.event_type) as event_type, coalesce(e.count, 0)::text as events, coalesce(m.count, 0)::text as messages
     from (select u.event_type, sum(u.count) as count from unnest($3::text[], $4::bigint[]) as u(event_type, count) group by 1) e
     full join (
       select o.event_type, count(distinct (o.tenant_id, o.event_id)) as count from sendledger.outbound_message o
       where o.created_at >= $1 and o.created_at < $2 and o.replaces_id is null group by 1
     ) m on m.event_type = e.event_type
     where coalesce(e.count, 0) <> coalesce(m.count, 0) order by 1`,
    [hour.from, hour.to, events.map((e) => e.eventType), events.map((e) => e.count)],
  );
  let opened = 0;
  for (const { event_type, events: happened, messages } of differing.slice(0, limit)) {
    const isNew = await openReview(sql, {
      kind: KIND,
      subject: `${event_type} ${hour.from.toISOString()}`,
      evidence: {
        event_type,
        from: hour.from.toISOString(),
        to: hour.to.toISOString(),
        events: happened,
        events_with_a_message: messages,
        remedy:
          'find the events that have no message, or the messages that have no event; enqueue again what is wanted',
      },
    });
    if (isNew) opened += 1;
  }
  await lookedAtUpTo(sql, hour.to);
  return { findings: differing.length, opened };
}

/** The application's function failed: that is a question to a person, and the hour is tried again. */
export async function openEventsFailure(sql: Sql, fn: string, error: string): Promise<void> {
  await openReview(sql, {
    kind: FAILED_KIND,
    subject: fn,
    evidence: {
      function: fn,
      error: error.slice(0, 500),
      remedy: 'call it by hand as sendledger_reconcile; see docs/audits.md for what it has to answer',
    },
  });
}

/** It works again. */
export async function closeEventsFailure(sql: Sql, fn: string): Promise<void> {
  await sql.query(
    `update sendledger.review_item set resolved_at = now(), resolved_by = 'sendledger', resolution = 'no_longer_found', note = 'it answers again'
     where kind = $1 and subject = $2 and resolved_at is null`,
    [FAILED_KIND, fn],
  );
}

/** Differences that wait for a person: an hour is looked at once, so what was found is counted by its open items. */
export async function openDifferences(sql: Sql): Promise<number> {
  return countOf(
    sql,
    `select 1 from sendledger.review_item v where v.kind in ('${KIND}', '${FAILED_KIND}') and v.resolved_at is null`,
  );
}

async function lookedAtUpTo(sql: Sql, to: Date): Promise<void> {
  await sql.query(
    `insert into sendledger.audit as a (name, last_run_at, finished_at) values ($1, $2, now())
     on conflict (name) do update set last_run_at = greatest(a.last_run_at, excluded.last_run_at), finished_at = now()`,
    [PROGRESS, to],
  );
}
