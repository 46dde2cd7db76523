import type pg from 'pg';

/** A lane that rows are written for. */
export interface SeededLane {
  readonly routeId: string;
  readonly workerId: string;
}

const MONTHS = 12;
const ROWS_A_STATEMENT = 500_000;
const ROWS_A_SUBMISSION = 5;

/** Runs `work` without triggers, as a restore does: the rows are written as they would have become. The checks of the tables stay. */
async function asRestore(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('set session_replication_role = replica; set synchronous_commit = off');
    await work(client);
    await client.query('reset session_replication_role; reset synchronous_commit');
  } finally {
    client.release();
  }
}

export async function makeMonths(pool: pg.Pool): Promise<void> {
  await pool.query(
    `select sendledger.create_month(((now() at time zone 'UTC')::date - make_interval(months => m))::date) from generate_series(0, $1::int) m`,
    [MONTHS],
  );
}

const MESSAGE = `insert into sendledger.outbound_message (created_at, tenant_id, business_key, event_type, event_id, channel, message_class,
  recipient, country, sender_id, route_id, provider, body, encoding, segments, due_at, submit_by, on_proven_absent, state, attempt_count, submission_id,
  submission_created_at, claimed_at, requested_at, submitted_at, delivered_at, receipt_by, provider_txn_id, provider_message_id, quoted_units, quoted_cost,
  quoted_currency, billable_units, cost, cost_currency, cost_source)`;
const CONTENT = `'IN', 'SHOPIN', $1, 'smsgatewaycenter', 'Order ' || g || repeat(' is on its way', 8), 'GSM7', 1`;
const PAST = `repeat('6', 10) || s.id, 'm' || g, 1, 0.1200, 'INR', 1, 0.1200, 'INR', 'quote'`;

/** So many messages of the last twelve months, all delivered, five to a request, and the statistics that belong to them. */
export async function seedHistory(pool: pg.Pool, lane: SeededLane, rows: number): Promise<void> {
  await makeMonths(pool);
  await asRestore(pool, async (client) => {
    for (let from = 0; from < rows; from += ROWS_A_STATEMENT) {
      const to = Math.min(rows, from + ROWS_A_STATEMENT);
      await client.query(
        `with s as (
           insert into sendledger.submission (created_at, route_id, message_class, size, state, epoch_no, not_after, claimed_by, lease_until,
             marked_by, requested_at, lease_token, responded_at, outcome_reason, provider_txn_id)
           select at, $1::bigint, 'transactional', ${ROWS_A_SUBMISSION}, 'accepted', 1, at + interval '1 hour', $2::bigint, at + interval '1 min', $2::bigint, at,
             gen_random_uuid(), at, 'accepted', 'h' || n
           from generate_series($3::bigint, $4::bigint, ${ROWS_A_SUBMISSION}) n
           cross join lateral (select date_trunc('milliseconds', now() - interval '360 days' * (1 - n / $5::float8)) as at) x
           returning id, created_at, provider_txn_id
         )
         ${MESSAGE}
         select s.created_at, 'tenant-' || g % 50, 'history-' || g, 'order', 'e' || g, 'sms', 'transactional', '9190' || lpad((g * 7919 % 100000000)::text, 8, '0'),
           ${CONTENT}, s.created_at, s.created_at + interval '1 hour', 'stop', 'delivered', 1, s.id, s.created_at, s.created_at, s.created_at, s.created_at,
           s.created_at, s.created_at + interval '1 day', ${PAST}
         from s cross join lateral (select substr(s.provider_txn_id, 2)::bigint + k as g from generate_series(0, ${ROWS_A_SUBMISSION - 1}) k) x`,
        [lane.routeId, lane.workerId, from, to - 1, rows],
      );
    }
  });
  await pool.query('analyze');
  await pool.query('checkpoint');
}

/** Rows that wait, due in turn over the last `sinceMs` before now, tenant by tenant. */
export async function seedWaiting(
  pool: pg.Pool,
  lane: SeededLane,
  rows: number,
  tenants: readonly string[],
  sinceMs: number,
): Promise<void> {
  await asRestore(pool, async (client) => {
    for (let from = 0; from < rows; from += ROWS_A_STATEMENT)
      await client.query(
        `insert into sendledger.outbound_message (created_at, tenant_id, business_key, event_type, event_id, channel, message_class, recipient, country,
           sender_id, route_id, provider, body, encoding, segments, due_at, submit_by, on_proven_absent)
         select at, ($5::text[])[1 + g % array_length($5::text[], 1)], 'waiting-' || gen_random_uuid(), 'order', 'e' || g, 'sms', 'transactional',
           '9191' || lpad((g * 7919 % 100000000)::text, 8, '0'), ${CONTENT}, at, now() + interval '1 day', 'stop'
         from generate_series($2::bigint, $3::bigint) g
         cross join lateral (select date_trunc('milliseconds', now() - $6 * interval '1 ms' * (1 - g / $4::float8)) as at) x`,
        [lane.routeId, from, Math.min(rows, from + ROWS_A_STATEMENT) - 1, rows, tenants, sinceMs],
      );
  });
}

/** Everything of the ledger that waits has become delivered: one dead version of each row, and its entries in the indexes of waiting rows. */
export async function deliverAllWaiting(pool: pg.Pool, lane: SeededLane): Promise<void> {
  await asRestore(pool, async (client) => {
    await client.query(
      `update sendledger.outbound_message m
       set state = 'delivered', attempt_count = 1, submission_id = m.id, submission_created_at = m.created_at, claimed_at = now(), requested_at = now(),
         submitted_at = now(), delivered_at = now(), quoted_units = 1, quoted_cost = 0.12, quoted_currency = 'INR', billable_units = 1, cost = 0.12,
         cost_currency = 'INR', cost_source = 'quote'
       where m.route_id = $1 and m.state = 'pending'`,
      [lane.routeId],
    );
  });
}

/** What was claimed has been sent and confirmed, so that no open request is counted by the next claim. Answers the tenants that had a row among it. */
export async function deliverClaimed(pool: pg.Pool, lane: SeededLane): Promise<string[]> {
  let tenants: string[] = [];
  await asRestore(pool, async (client) => {
    const { rows } = await client.query<{ tenant_id: string }>(
      `with s as (
         update sendledger.submission set state = 'accepted', marked_by = claimed_by, requested_at = now(), lease_token = gen_random_uuid(),
           responded_at = now(), outcome_reason = 'accepted'
         where route_id = $1 and state = 'open' returning id
       ), m as (
         update sendledger.outbound_message set state = 'delivered', requested_at = now(), submitted_at = now(), delivered_at = now(), billable_units = quoted_units,
           cost = quoted_cost, cost_currency = quoted_currency, cost_source = 'quote'
         where submission_id = any (array(select id from s)) and state = 'claimed' returning tenant_id
       )
       select distinct tenant_id from m`,
      [lane.routeId],
    );
    tenants = rows.map((row) => row.tenant_id);
  });
  return tenants;
}

/** A message that was accepted and has no receipt yet. */
export interface AwaitedRow {
  readonly provider_txn_id: string;
  readonly provider_message_id: string | null;
  readonly recipient: string;
}

/** So many requests of one message that wait for their receipts; of every second one the provider's own message id is known. */
export async function seedAwaited(pool: pg.Pool, lane: SeededLane, rows: number): Promise<AwaitedRow[]> {
  let awaited: AwaitedRow[] = [];
  await asRestore(pool, async (client) => {
    const found = await client.query<AwaitedRow>(
      `with s as (
         insert into sendledger.submission (created_at, route_id, message_class, size, state, epoch_no, not_after, claimed_by, lease_until,
           marked_by, requested_at, lease_token, responded_at, outcome_reason, provider_txn_id, poll_at)
         select at, $1::bigint, 'transactional', 1, 'accepted', 1, at + interval '1 hour', $2::bigint, at + interval '1 min', $2::bigint, at, gen_random_uuid(), at,
           'accepted', 'a' || g, now() + interval '1 hour'
         from generate_series(1, $3::bigint) g cross join lateral (select date_trunc('milliseconds', now() - g * interval '1 ms') as at) x
         returning id, created_at, provider_txn_id
       ), m as (
         ${MESSAGE}
         select s.created_at, 'tenant-' || s.id % 50, 'awaited-' || s.id, 'order', 'e' || s.id, 'sms', 'transactional', '9192' || lpad((s.id * 7919 % 100000000)::text, 8, '0'),
           ${CONTENT.replaceAll('|| g ||', '|| s.id ||')}, s.created_at, s.created_at + interval '1 hour', 'stop', 'submitted', 1, s.id, s.created_at, s.created_at, s.created_at,
           s.created_at, null, s.created_at + interval '1 day', s.provider_txn_id, case when s.id % 2 = 0 then '7' || lpad(s.id::text, 14, '0') end,
           1, 0.1200, 'INR', 1, 0.1200, 'INR', 'quote'
         from s returning id, created_at, provider_txn_id, provider_message_id, recipient
       ), p as (
         insert into sendledger.provider_message (account, provider_message_id, message_id, message_created_at)
         select 'smsgatewaycenter/default', provider_message_id, id, created_at from m where provider_message_id is not null
       )
       select provider_txn_id, provider_message_id, recipient from m`,
      [lane.routeId, lane.workerId, rows],
    );
    awaited = found.rows;
  });
  return awaited;
}
