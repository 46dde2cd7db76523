import type { RowRef } from './identity.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';
import type { UnresolvedRow } from './unresolved.ts';

/** From now on these closed messages are looked for a few more times, for two days. */
export async function watchAbsent(sql: Sql, messages: readonly RowRef[]): Promise<void> {
  if (messages.length === 0) return;
  await sql.query(
    `insert into sendledger.absence_watch (message_id, message_created_at, next_look_at, until)
     select x.id, x.at, now() + interval '15 minutes', greatest(now(), m.scheduled_for) + interval '2 days'
     from unnest($1::bigint[], $2::timestamptz[]) as x(id, at)
     join sendledger.outbound_message m on m.id = x.id and m.created_at = x.at
     on conflict (message_id) do nothing`,
    [messages.map((m) => m.id), messages.map((m) => m.createdAt)],
  );
}

export interface WatchedRow extends UnresolvedRow {
  readonly provider: string;
  readonly account: string;
  /** IANA zone of the provider's clock strings. */
  readonly zone: string;
}

/** Takes closed messages whose next look is due, of these accounts, and moves that look on; what is over is forgotten. */
export async function takeWatched(sql: Sql, limit: number, accounts: readonly string[]): Promise<WatchedRow[]> {
  // What another process is at is left to it: nobody waits here while holding a row, so none can wait for the other.
  await sql.query(
    `delete from sendledger.absence_watch w
     where w.message_id in (select x.message_id from sendledger.absence_watch x where x.until < now() for update skip locked)`,
  );
  const due = await rowsOf<RowRef>(
    sql,
    `with due as materialized (
       select w.message_id from sendledger.absence_watch w where w.next_look_at <= now()
       order by w.next_look_at limit $1 for update skip locked
     )
     update sendledger.absence_watch w
     set looks = w.looks + 1, next_look_at = now() + least(interval '30 minutes' * power(2, least(w.looks, 10)), interval '6 hours')
     where w.message_id in (select d.message_id from due d)
     returning w.message_id as id, w.message_created_at as "createdAt"`,
    [limit],
  );
  const found: WatchedRow[] = [];
  for (const ref of due) {
    const rows = await rowsOf<Omit<WatchedRow, 'submission'> & { submissionId: string; submissionCreatedAt: Date }>(
      sql,
      `select m.id, m.created_at as "createdAt", m.route_id as "routeId", m.attempt_key as "attemptKey", m.state::text as state,
         m.recipient, m.sender_id as "senderId", m.message_class as "messageClass", m.requested_at as "requestedAt",
         case when m.held_by = 'provider' and m.scheduled_for > m.requested_at then m.scheduled_for end as "heldUntil",
         m.requested_at as "settlesFrom", 0::double precision as "settleMs", m.requested_at as "endedAt", true as "senderIsDone", false as "transactionNamed",
         clock_timestamp() as "askedAt", m.submission_id as "submissionId", m.submission_created_at as "submissionCreatedAt",
         r.provider, r.account, r.provider_zone as zone
       from sendledger.outbound_message m join sendledger.route r on r.id = m.route_id
       where m.id = $1 and m.created_at = $2 and m.state = 'failed' and m.cost is null and m.submission_id is not null
         and r.provider || '/' || r.account = any ($3::text[])`,
      [ref.id, ref.createdAt, accounts],
    );
    for (const { submissionId, submissionCreatedAt, ...row } of rows)
      found.push({ ...row, submission: { id: submissionId, createdAt: submissionCreatedAt } });
  }
  return found;
}

/** A hint names these recipients: whatever of them was called absent is looked for at once. */
export async function wakeWatched(sql: Sql, recipients: readonly string[]): Promise<number> {
  if (recipients.length === 0) return 0;
  return countOf(
    sql,
    `with news as materialized (
       select w.message_id from sendledger.absence_watch w
       join sendledger.outbound_message m on m.id = w.message_id and m.created_at = w.message_created_at
       where m.recipient = any ($1::text[]) and w.next_look_at > now()
       -- By id, for whoever wakes the same rows at once.
       order by w.message_id for no key update of w
     )
     update sendledger.absence_watch w set next_look_at = now()
     where w.message_id in (select n.message_id from news n)`,
    [recipients],
  );
}
