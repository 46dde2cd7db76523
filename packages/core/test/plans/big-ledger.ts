import type pg from 'pg';
import { type Scene, scene } from '../ledger/scene.ts';
import { asRole } from '../schema/rows.ts';

/** Submissions in the history; each has five messages. */
const SUBMISSIONS = 40_000;
const MONTHS = 20;

/**
 * Twenty months of a skewed ledger: most rows are recent, one tenant has 60 %, 3 % are unknown. About 200 000 messages, and
 * nothing of them waits yet: what waits comes with {@link burst}.
 */
export async function history(pool: pg.Pool): Promise<Scene> {
  const s = await scene(pool, { name: 'main' });
  await pool.query(
    `select sendledger.create_month(((now() at time zone 'UTC')::date - make_interval(months => m))::date) from generate_series(0, $1::int) m`,
    [MONTHS],
  );
  // Statistics are the test's own: whether they are fresh is what is tried.
  const partitions = await pool.query<{ name: string }>(
    `select i.inhrelid::regclass::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent in ('sendledger.outbound_message'::regclass, 'sendledger.submission'::regclass, 'sendledger.delivery_receipt'::regclass)`,
  );
  for (const { name } of partitions.rows) await pool.query(`alter table ${name} set (autovacuum_enabled = off)`);
  // The ids below are given by hand; the sequences go on behind them.
  await pool.query(
    `select setval('sendledger.submission_id_seq', 2000000), setval('sendledger.message_id_seq', 2000000)`,
  );
  await asRole(pool, 'sendledger_import', async (sql) => {
    await sql.query(
      `insert into sendledger.submission (id, created_at, route_id, message_class, size, state, epoch_no, not_after, claimed_by, lease_until,
         marked_by, requested_at, lease_token, responded_at, outcome_reason, provider_txn_id, poll_at)
       select g, x.at, $1, x.class, 5, x.state, 1, x.at + interval '1 h', $2, x.at + interval '1 min', $2, x.at, gen_random_uuid(), x.at, 'x',
         case when x.state = 'accepted' then 'txn-' || g end,
         case when x.state = 'accepted' and g > ${SUBMISSIONS} - 800 then now() - interval '1 min' * (g % 60) + interval '50 min' end
       from generate_series(1, ${SUBMISSIONS}) g
       cross join lateral (select
         date_trunc('milliseconds', now() - interval '590 days' * power(1 - g / ${SUBMISSIONS}.0, 2)) as at,
         case when g % 4 = 0 then 'promotional' else 'transactional' end::sendledger.message_class as class,
         case when g % 33 = 0 then 'ambiguous' else 'accepted' end::sendledger.submission_state as state) x`,
      [s.routeId, s.worker.id],
    );
    await sql.query(
      `insert into sendledger.outbound_message (id, created_at, tenant_id, business_key, event_type, event_id, channel, message_class,
         recipient, sender_id, route_id, provider, body, encoding, segments, state, attempt_count, submission_id, submission_created_at,
         provider_txn_id, provider_message_id, due_at, submit_by, claimed_at, requested_at, submitted_at, receipt_by, quoted_units,
         quoted_cost, quoted_currency, billable_units, cost, cost_currency, cost_source, on_proven_absent)
       select g.id * 5 + n, g.created_at, case when (g.id + n) % 10 < 6 then 'big' else 't' || (g.id % 200) end, md5(g.id || '.' || n), 'order',
         'e' || g.id, 'sms', g.message_class, '9190' || lpad(((g.id * 7 + n * 13001) % 60000)::text, 8, '0'), 'SHOP', $1, 'smsgatewaycenter',
         repeat('x', 120), 'GSM7', 1, x.state, 1, g.id, g.created_at, g.provider_txn_id,
         case when x.state <> 'unknown' then 'pm-' || g.id || '-' || n end, g.created_at, g.created_at + interval '1 h', g.created_at,
         g.created_at, case when x.state <> 'unknown' then g.created_at end, g.created_at + interval '1 day', 1, 0.1225, 'INR',
         case when x.state <> 'unknown' then 1 end, case when x.state <> 'unknown' then 0.1225 end,
         case when x.state <> 'unknown' then 'INR' end, case when x.state <> 'unknown' then 'quote'::sendledger.cost_source end, 'stop'
       from sendledger.submission g cross join generate_series(0, 4) n
       cross join lateral (select case
         when g.state = 'ambiguous' then 'unknown'
         when g.id > ${SUBMISSIONS} - 1500 and (g.id + n) % 2 = 0 then 'submitted'
         when (g.id + n) % 25 = 0 then 'failed'
         when (g.id + n) % 99 = 0 then 'expired'
         else 'delivered' end::sendledger.message_state as state) x
       order by g.id, n`,
      [s.routeId],
    );
  });
  await pool.query(
    `insert into sendledger.provider_message (account, provider_message_id, message_id, message_created_at)
     select 'smsgatewaycenter/default', m.provider_message_id, m.id, m.created_at from sendledger.outbound_message m
     where m.provider_message_id is not null and m.submission_id > ${SUBMISSIONS} / 2`,
  );
  await pool.query(
    `insert into sendledger.delivery_receipt (dedupe_hash, received_at, received_month, route_id, source, provider_txn_id,
       provider_message_id, recipient, status_word, status, message_id, message_created_at, applied_at)
     select sha256(m.id::text::bytea), m.created_at, date_trunc('month', m.created_at at time zone 'UTC')::date, m.route_id, 'poll', m.provider_txn_id,
       m.provider_message_id, m.recipient, 'DELIVERED', 'delivered', m.id, m.created_at, m.created_at
     from sendledger.outbound_message m where m.state = 'delivered' and m.submission_id > ${SUBMISSIONS} / 2`,
  );
  await pool.query('analyze');
  return s;
}

/** What waits and what is under way: rows that no statistics know of until the next ANALYZE. */
export async function burst(pool: pg.Pool, s: Scene): Promise<void> {
  await asRole(pool, 'sendledger_import', async (sql) => {
    await sql.query(
      `insert into sendledger.submission (id, route_id, message_class, size, state, epoch_no, not_after, claimed_by, lease_until, marked_by, requested_at, lease_token)
       select 1000000 + g, $1, 'transactional', 10, x.state, 1, now() + interval '1 h', $2, now() + interval '10 min',
         case when x.state = 'marked' then $2::bigint end, case when x.state = 'marked' then now() end, case when x.state = 'marked' then gen_random_uuid() end
       from generate_series(1, 400) g
       cross join lateral (select case when g % 2 = 0 then 'open' else 'marked' end::sendledger.submission_state as state) x`,
      [s.routeId, s.worker.id],
    );
    await sql.query(
      `insert into sendledger.outbound_message (created_at, tenant_id, business_key, event_type, event_id, channel, message_class,
         recipient, sender_id, route_id, provider, body, encoding, segments, state, submission_id, submission_created_at, due_at, submit_by,
         claimed_at, quoted_units, quoted_cost, quoted_currency, on_proven_absent)
       select date_trunc('milliseconds', now() - interval '2 h' - interval '1 s' * n), 'big', 'claimed-' || g.id || '.' || n, 'order', 'e', 'sms', g.message_class, '9191' || lpad(((g.id * 10 + n) % 60000)::text, 8, '0'),
         'SHOP', $1, 'smsgatewaycenter', repeat('x', 120), 'GSM7', 1, 'claimed', g.id, g.created_at, now(), now() + interval '1 h', now(), 1, 0.1225, 'INR', 'stop'
       from sendledger.submission g cross join generate_series(0, 9) n where g.id > 1000000`,
      [s.routeId],
    );
    await sql.query(
      `insert into sendledger.outbound_message (created_at, tenant_id, business_key, event_type, event_id, channel, message_class,
         recipient, sender_id, route_id, provider, body, encoding, segments, state, due_at, submit_by, on_proven_absent)
       select date_trunc('milliseconds', now() - interval '2 h' - interval '1 min' * g), case when g % 10 < 6 then 'big' else 't' || (g % 200) end, 'waiting-' || g, 'order', 'e', 'sms',
         case g % 20 when 0 then 'otp' when 1 then 'promotional' else 'transactional' end::sendledger.message_class,
         '9192' || lpad((g % 60000)::text, 8, '0'), 'SHOP', $1, 'smsgatewaycenter', repeat('x', 120), 'GSM7', 1,
         case when g % 15 = 0 then 'retry' else 'pending' end::sendledger.message_state,
         now() - interval '1 s' * (g % 500), case when g % 50 = 3 then now() - interval '1 s' else now() + interval '1 h' end, 'stop'
       from generate_series(1, 10000) g`,
      [s.routeId],
    );
  });
  // Receipts that match nobody yet.
  await pool.query(
    `insert into sendledger.delivery_receipt (dedupe_hash, route_id, source, provider_message_id, status_word, status)
     select sha256(('stranger ' || g)::bytea), $1, 'push', 'stranger-' || g, 'DELIVERED', 'delivered' from generate_series(1, 5000) g`,
    [s.routeId],
  );
}
