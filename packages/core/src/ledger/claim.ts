import type pg from 'pg';
import type { MessageClass } from '../domain/state.ts';
import { COVERED_BY_CANCELLATION } from './cancellation-cover.ts';
import { fairTurns, type Turn } from './fair-turns.ts';
import { type LaneRef, rowKeys } from './identity.ts';
import { openReview } from './open-review.ts';
import { type PickedRow, planSubmissions } from './plan-submissions.ts';
import { dictionary } from './row-values.ts';
import { rowsOf, type Sql } from './sql.ts';
import { durably } from './transaction.ts';

export interface ClaimRequest extends LaneRef {
  /** Rows looked at in one transaction. */
  readonly limit: number;
  /** How long the submissions wait for their mark before they are released. */
  readonly leaseMs: number;
  readonly workerId: string;
  /** The tenant that this claimer served last in this lane: the turns go on behind it. */
  readonly after?: string;
}

export interface ClaimResult {
  readonly rows: number;
  readonly submissions: number;
  /** Rows without a price: they stay pending with reason `no_rate`, and are looked at again later. */
  readonly unpriced: number;
  /** Rows a cancellation covers. */
  readonly cancelled: number;
  /** As many rows were due as were looked at: come back at once. */
  readonly more: boolean;
  /** The breaker is open: one message was taken as its probe. */
  readonly probe: boolean;
  /** The tenant served last; null where nobody was, or nobody else waits. */
  readonly served: string | null;
}

/** Due rows among which a probe is looked for. */
const PROBE_CANDIDATES = 100;

const NOTHING: ClaimResult = {
  rows: 0,
  submissions: 0,
  unpriced: 0,
  cancelled: 0,
  more: false,
  probe: false,
  served: null,
};

/**
 * pending|retry → claimed: takes the next due rows of a lane, quotes their price and groups them into submissions under a
 * lease, in one short transaction. Rows another claimer holds are skipped, not waited for.
 */
export async function claim(pool: pg.Pool, request: ClaimRequest): Promise<ClaimResult> {
  return durably(pool, async (sql) => {
    const gate = await openGate(sql, request, request.leaseMs);
    if (gate === undefined || gate.room <= 0 || gate.rowRoom <= 0) return NOTHING;
    // A probe is the first of them that has a price and was not cancelled.
    const limit = gate.probe ? PROBE_CANDIDATES : Math.min(request.limit, gate.room * gate.maxBatch, gate.rowRoom);
    const turns = await fairTurns(sql, request, limit, request.after ?? '');
    const picked = await pickDue(sql, request, limit, gate.maxBatch, turns);
    if (picked.length === 0) return NOTHING;
    const served = turns.length > 1 ? (picked.at(-1)?.tenantId ?? null) : null;

    const covered = picked.filter((row) => row.cancelled);
    if (covered.length > 0) await cancelCovered(sql, covered);

    const prices = await quote(sql, request.routeId, [...new Set(picked.map((row) => row.priceKey))]);
    const unpriced = picked.filter((row) => !row.cancelled && !prices.has(row.priceKey));
    if (unpriced.length > 0) await postponeUnpriced(sql, request, unpriced);

    const priced = interleave(picked).filter((row) => !row.cancelled && prices.has(row.priceKey));
    const planned = planSubmissions(gate.probe ? priced.slice(0, 1) : priced, gate);
    const rows = planned.flatMap((s, group) => s.rows.map((row) => ({ row: row as DueRow, group: group + 1 })));
    if (rows.length > 0) {
      const [ids, earliest, latest] = rowKeys(rows.map((r) => r.row));
      const quoted = dictionary(rows.map((r) => prices.get(r.row.priceKey)));
      const written = await sql.query(CLAIM, [
        request.routeId,
        request.messageClass,
        request.workerId,
        request.leaseMs,
        gate.epochNo,
        planned.map((s) => s.rows.length),
        planned.map((s) => s.notAfter),
        ids,
        earliest,
        latest,
        rows.map((r) => r.group),
        quoted.places,
        quoted.values.map((q) => q?.price ?? null),
        quoted.values.map((q) => q?.currency ?? null),
        gate.probe,
      ]);
      // The rows are locked by this transaction, so each is still where it was picked.
      if (written.rowCount !== rows.length)
        throw new Error(`claim wrote ${written.rowCount} of ${rows.length} locked rows`);
    }
    return {
      rows: rows.length,
      submissions: planned.length,
      unpriced: unpriced.length,
      cancelled: covered.length,
      more: !gate.probe && (picked.length >= limit || anyFull(picked, turns)),
      probe: gate.probe,
      served,
    };
  });
}

interface Gate {
  readonly maxBatch: number;
  readonly room: number;
  /** Recipients, where the route's rate counts them. */
  readonly rowRoom: number;
  readonly epochNo: number;
  readonly probe: boolean;
}

/**
 * What the lane takes now, and no more than the route can send before the lease is over. Room counts submissions of the lane not yet marked, so that leases do not run out in the queue; two
 * claimers may overshoot it by a batch each, which costs a release and nothing else. A pause or a hold leaves rows pending, and
 * so does a breaker that is open, but for one message when a probe is due; the mark is what enforces them. No batch is larger than what may be on the wire, or it could
 * only leave while nothing else is.
 */
async function openGate(sql: Sql, lane: LaneRef, leaseMs: number): Promise<Gate | undefined> {
  const [gate] = await rowsOf<{
    max_batch: number;
    room: number;
    row_room: number | null;
    epoch_no: number;
    probe: boolean;
  }>(
    sql,
    `select r.breaker_state = 'open' as probe, case when $2::sendledger.message_class = 'otp' then 1
         when r.rate_unit = 'recipients' then least(r.max_batch, r.max_in_flight_rows, greatest(1, floor(r.rate_per_second * r.burst_seconds / 2)))::integer
         else least(r.max_batch, r.max_in_flight_rows) end as max_batch, e.epoch_no,
       least(r.max_open_submissions, case when r.rate_unit = 'requests' then ceil(r.rate_per_second * $3 / 1000) end)::integer - busy.requests as room,
       case when r.rate_unit = 'recipients' then ceil(r.rate_per_second * $3 / 1000)::integer - busy.rows end as row_room
     from sendledger.route r
     join sendledger.lane l on l.route_id = r.id and l.message_class = $2::sendledger.message_class
     cross join sendledger.dataset_epoch e
     cross join lateral (select count(*)::integer as requests, coalesce(sum(s.size), 0)::integer as rows from sendledger.submission s
       where s.route_id = r.id and s.message_class = l.message_class and s.state = 'open') busy
     where r.id = $1 and r.paused_at is null and l.paused_at is null and not r.hold and e.status = 'ok'
       and coalesce(r.throttled_until, '-infinity') <= clock_timestamp() and coalesce(r.rate_per_second, 1) > 0
       and (r.breaker_state = 'closed' or (r.probe_at <= clock_timestamp() and not exists (select from sendledger.submission s
         where s.route_id = r.id and s.state = 'open' and s.is_probe and s.lease_until > clock_timestamp())))`,
    [lane.routeId, lane.messageClass, leaseMs],
  );
  return (
    gate && {
      maxBatch: gate.max_batch,
      // What is open and was claimed before does not stand in the way of a probe: it is on its way back to pending.
      room: gate.probe ? 1 : gate.room,
      rowRoom: gate.probe ? 1 : (gate.row_room ?? Number.MAX_SAFE_INTEGER),
      epochNo: gate.epoch_no,
      probe: gate.probe,
    }
  );
}

/** One of each tenant, then the next of each: what is claimed first leaves first. */
function interleave(picked: readonly DueRow[]): readonly DueRow[] {
  const queues = [...Map.groupBy(picked, (row) => row.tenantId).values()];
  if (queues.length < 2) return picked;
  const longest = Math.max(...queues.map((queue) => queue.length));
  return Array.from({ length: longest }, (_, i) => queues.flatMap((queue) => queue[i] ?? [])).flat();
}

/** Some tenant gave its whole share: it may have more. */
function anyFull(picked: readonly DueRow[], turns: readonly Turn[]): boolean {
  const taken = Map.groupBy(picked, (row) => row.tenantId);
  return turns.some(({ tenantId, share }) => (taken.get(tenantId)?.length ?? 0) >= share);
}

interface DueRow extends PickedRow {
  readonly tenantId: string;
  readonly priceKey: string;
  readonly cancelled: boolean;
}

/**
 * The next due rows by `outbound_message_claim`. Rows whose `submit_by` ends within the lease are left to the expiry
 * sweep. No bound on `created_at`: it would strand scheduled and recovered rows.
 */
const DUE_COLUMNS = `m.id, m.created_at, m.tenant_id, m.recipient, m.submit_by, m.message_class::text || ':' || coalesce(m.country, '*') as price_key,
    case when $5::boolean then md5(row(m.tenant_id, m.sender_id, m.body, m.encoding, m.dlt_entity_id, m.dlt_template_id)::text) end as content,
    ${COVERED_BY_CANCELLATION} as cancelled`;

export const PICK_DUE = `select ${DUE_COLUMNS}
  from sendledger.outbound_message m
  where m.route_id = $1 and m.message_class = $2::sendledger.message_class and m.state in ('pending', 'retry')
    and m.due_at <= now() and m.submit_by > now() + $4 * interval '1 ms'
  order by m.due_at, m.id
  limit $3
  for update skip locked`;

/** The same where several tenants wait: each in its turn gives its share, its own oldest first, by `outbound_message_fair`. */
export const PICK_FAIR = `select due.* from unnest($6::text[], $7::integer[]) with ordinality as t(tenant_id, share, turn)
  cross join lateral (
    select ${DUE_COLUMNS}
    from sendledger.outbound_message m
    where m.route_id = $1 and m.message_class = $2::sendledger.message_class and m.state in ('pending', 'retry')
      and m.tenant_id = t.tenant_id and m.due_at <= now() and m.submit_by > now() + $4 * interval '1 ms'
    order by m.due_at, m.id
    limit t.share
    for update skip locked
  ) due
  order by t.turn
  limit $3`;

async function pickDue(
  sql: Sql,
  request: ClaimRequest,
  limit: number,
  maxBatch: number,
  turns: readonly Turn[],
): Promise<DueRow[]> {
  const rows = await rowsOf<{
    id: string;
    created_at: Date;
    tenant_id: string;
    recipient: string;
    submit_by: Date;
    price_key: string;
    content: string | null;
    cancelled: boolean;
  }>(sql, turns.length > 1 ? PICK_FAIR : PICK_DUE, [
    request.routeId,
    request.messageClass,
    limit,
    request.leaseMs,
    maxBatch > 1,
    ...(turns.length > 1 ? [turns.map((t) => t.tenantId), turns.map((t) => t.share)] : []),
  ]);
  return rows.map((row) => ({
    id: row.id,
    createdAt: row.created_at,
    tenantId: row.tenant_id,
    recipient: row.recipient,
    submitBy: row.submit_by,
    priceKey: row.price_key,
    content: row.content,
    cancelled: row.cancelled,
  }));
}

/** The most exact valid rate per price key: `otp:IN`, else `otp:*`, else `*`. */
async function quote(
  sql: Sql,
  routeId: string,
  priceKeys: readonly string[],
): Promise<Map<string, { price: string; currency: string }>> {
  const rows = await rowsOf<{ key: string; price: string; currency: string }>(
    sql,
    `select distinct on (k.key) k.key, c.price::text as price, c.currency
     from unnest($2::text[]) as k(key)
     cross join lateral unnest(array[k.key, split_part(k.key, ':', 1) || ':*', '*']) with ordinality as wanted(price_key, rank)
     join sendledger.rate_card c on c.route_id = $1 and c.price_key = wanted.price_key and c.valid @> now()
     order by k.key, wanted.rank`,
    [routeId, priceKeys],
  );
  return new Map(rows.map((row) => [row.key, { price: row.price, currency: row.currency }]));
}

/**
 * Submissions first, then the rows that read their ids: the guard demands that a row is claimed into a submission that is
 * there and open. Per-row values are taken by position; a join of a parameter list flips plans when statistics are stale.
 * The quote is made here, in SQL, and copied to the cost when the provider accepts.
 */
export const CLAIM = `with plan as materialized (
    select p.ord, p.size, p.not_after, nextval('sendledger.submission_id_seq') as id
    from unnest($6::integer[], $7::timestamptz[]) with ordinality as p(size, not_after, ord)
  ), made as (
    insert into sendledger.submission (id, route_id, message_class, size, epoch_no, not_after, claimed_by, lease_until, is_probe)
    select p.id, $1::bigint, $2::sendledger.message_class, p.size, $5::integer, p.not_after, $3::bigint, now() + $4 * interval '1 ms', $15::boolean
    from plan p
    returning id
  ), ids as materialized (
    select array_agg(p.id order by p.ord) as of_group from plan p
  )
  update sendledger.outbound_message m
  set (state, state_reason, claimed_at, updated_at, submission_id, submission_created_at, quoted_units, quoted_cost, quoted_currency) = (
    select 'claimed'::sendledger.message_state, null::text, now(), now(), (select of_group from ids)[($11::integer[])[x.pos]], date_trunc('milliseconds', now()),
      m.segments, round(m.segments * ($13::numeric[])[x.price], 4), ($14::text[])[x.price]
    from (select p.pos, ($12::integer[])[p.pos] as price from (select array_position($8::bigint[], m.id) as pos) p) x)
  where m.id = any ($8::bigint[]) and m.created_at >= $9 and m.created_at <= $10 and m.state::text in ('pending', 'retry')`;

async function cancelCovered(sql: Sql, rows: readonly DueRow[]): Promise<void> {
  const [ids, earliest, latest] = rowKeys(rows);
  await sql.query(
    `update sendledger.outbound_message m set state = 'cancelled', state_reason = 'cancelled', updated_at = now()
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text in ('pending', 'retry')`,
    [ids, earliest, latest],
  );
}

/** A row without a rate is never sent. It is looked at again after a pause that grows with its age, from 30 s to an hour. */
async function postponeUnpriced(sql: Sql, lane: LaneRef, rows: readonly DueRow[]): Promise<void> {
  const [ids, earliest, latest] = rowKeys(rows);
  await sql.query(
    `update sendledger.outbound_message m
     set state_reason = 'no_rate', updated_at = now(),
         due_at = now() + least(greatest(now() - m.created_at, interval '30 s'), interval '1 h')
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text in ('pending', 'retry')`,
    [ids, earliest, latest],
  );
  for (const priceKey of new Set(rows.map((row) => row.priceKey)))
    await openReview(sql, {
      kind: 'no_rate',
      subject: `route ${lane.routeId} ${priceKey}`,
      routeId: lane.routeId,
      evidence: { price_key: priceKey, remedy: 'add a rate for this route and price key' },
    });
}

/** Lanes of a class that have something due. One index probe per lane, whatever the length of its queue. */
export async function lanesWithWork(sql: Sql, messageClass: MessageClass): Promise<LaneRef[]> {
  const rows = await rowsOf<{ route_id: string; message_class: MessageClass }>(
    sql,
    `select l.route_id, l.message_class
     from sendledger.lane l
     join sendledger.route r on r.id = l.route_id
     -- Not EXISTS: that is planned as a semi join, which reads the whole backlog.
     cross join lateral (
       select from sendledger.outbound_message m
       where m.route_id = l.route_id and m.message_class = l.message_class and m.state in ('pending', 'retry') and m.due_at <= now()
       order by m.due_at limit 1
     ) due
     where l.message_class = $1::sendledger.message_class and l.paused_at is null and r.paused_at is null and not r.hold and r.retired_at is null
       and (r.breaker_state = 'closed' or r.probe_at <= clock_timestamp())
     order by l.route_id`,
    [messageClass],
  );
  return rows.map((row) => ({ routeId: row.route_id, messageClass: row.message_class }));
}
