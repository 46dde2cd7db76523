import type pg from 'pg';
import type { MessageClass } from '../domain/state.ts';
import { COVERED_BY_CANCELLATION } from './cancellation-cover.ts';
import { type LaneHint, nextHint } from './claim-hint.ts';
import { type Credits, chargeTurns, sharesOf, type Turn, tenantsWaiting } from './fair-turns.ts';
import { byId, type LaneRef, rowKeys, sortedRowKeys } from './identity.ts';
import { openReview } from './open-review.ts';
import { type PickedRow, planSubmissions } from './plan-submissions.ts';
import { BULK_ROWS, LARGEST_REQUEST } from './route-rate.ts';
import { dictionary } from './row-values.ts';
import { rowsOf, type Sql } from './sql.ts';
import { durably } from './transaction.ts';

export interface ClaimRequest extends LaneRef {
  /** Rows looked at in one transaction. */
  readonly limit: number;
  /** How long the submissions wait for their mark before they are released. */
  readonly leaseMs: number;
  readonly workerId: string;
  /** What this claimer owes the tenants of this lane from claims before, in rows. */
  readonly credits?: Credits;
  /** What the last claim of this lane gave; saves the way over rows that are gone. Never for one-time passwords. */
  readonly hint?: LaneHint;
}

export interface ClaimResult {
  readonly rows: number;
  readonly submissions: number;
  /** Rows without a price: they stay pending with reason `no_rate`, and are looked at again later. */
  readonly unpriced: number;
  /** Rows a cancellation covers. */
  readonly cancelled: number;
  /** Rows that may not leave yet: their window is shut, or a provider was to hold them and cannot be given them in time any more. */
  readonly postponed: number;
  /** As many rows were due as were looked at: come back at once. */
  readonly more: boolean;
  /** The breaker is open: one message was taken as its probe. */
  readonly probe: boolean;
  /** What is owed to the tenants now; for the next claim. */
  readonly credits: Credits;
  /** Where the next claim of this lane may begin. */
  readonly hint: LaneHint | null;
}

/** Due rows among which a probe is looked for. */
const PROBE_CANDIDATES = 100;

const NOTHING: ClaimResult = {
  rows: 0,
  submissions: 0,
  unpriced: 0,
  cancelled: 0,
  postponed: 0,
  more: false,
  probe: false,
  credits: new Map(),
  hint: null,
};

/**
 * pending|retry → claimed: takes the next due rows of a lane, quotes their price and groups them into submissions under a
 * lease, in one short transaction. Rows another claimer holds are skipped, not waited for.
 */
export async function claim(pool: pg.Pool, request: ClaimRequest): Promise<ClaimResult> {
  return durably(pool, 'claim', async (sql) => {
    const gate = await openGate(sql, request, request.leaseMs);
    if (gate === undefined || gate.room <= 0 || gate.rowRoom <= 0) return NOTHING;
    // A probe is the first of them that has a price and was not cancelled.
    const limit = gate.probe ? PROBE_CANDIDATES : Math.min(request.limit, gate.room * gate.maxBatch, gate.rowRoom);
    const tenants = request.hint?.tenants ?? (await tenantsWaiting(sql, request));
    const turns = sharesOf(tenants, limit, request.credits);
    const { rows: picked, at } = await pickDue(sql, request, limit, gate.maxBatch, turns);
    const hint = gate.probe ? null : nextHint(tenants, picked, at, request.hint);
    if (picked.length === 0) return { ...NOTHING, hint };
    const credits = chargeTurns(
      tenants,
      picked.map((row) => row.tenantId),
      request.credits,
    );

    const covered = picked.filter((row) => row.cancelled);
    if (covered.length > 0) await cancelCovered(sql, covered);
    const open = picked.filter((row) => !row.cancelled);
    const home = open.filter((row) => row.held === 'late');
    if (home.length > 0) await takeHome(sql, request, home);
    const shut = gate.closedUntil === null ? [] : open.filter((row) => row.held === 'no');
    if (shut.length > 0 && gate.closedUntil !== null) await moveToOpening(sql, shut, gate.closedUntil);
    const leaving = open.filter((row) => row.held === 'ahead' || (row.held === 'no' && gate.closedUntil === null));

    const prices = await quote(sql, request.routeId, [...new Set(leaving.map((row) => row.priceKey))]);
    const unpriced = leaving.filter((row) => !prices.has(row.priceKey));
    if (unpriced.length > 0) await postponeUnpriced(sql, request, unpriced);

    const priced = interleave(leaving)
      .filter((row) => prices.has(row.priceKey))
      .map((row) => ({ ...row, notAfter: earliest(row.notAfter, row.held === 'no' ? gate.closesAt : null) }));
    const planned = planSubmissions(gate.probe ? priced.slice(0, 1) : priced, gate);
    const rows = byId(planned.flatMap((s, group) => s.rows.map((row) => ({ ...(row as DueRow), group: group + 1 }))));
    if (rows.length > 0) {
      const [ids, first, last] = sortedRowKeys(rows);
      const quoted = dictionary(rows.map((row) => prices.get(row.priceKey)));
      const written = await sql.query(CLAIM, [
        request.routeId,
        request.messageClass,
        request.workerId,
        request.leaseMs,
        gate.epochNo,
        planned.map((s) => s.rows.length),
        planned.map((s) => s.notAfter),
        ids,
        first,
        last,
        rows.map((row) => row.group),
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
      postponed: home.length + shut.length,
      more: !gate.probe && (picked.length >= limit || anyFull(picked, turns)),
      probe: gate.probe,
      credits,
      hint,
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
  /** The send window is shut, or shuts before the lease is over: until then. Null: it is open. */
  readonly closedUntil: Date | null;
  /** When the open window shuts; null: never. */
  readonly closesAt: Date | null;
}

function earliest(one: Date, other: Date | null): Date {
  return other !== null && other < one ? other : one;
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
    closed_until: Date | null;
    closes_at: Date | null;
  }>(
    sql,
    `select r.breaker_state = 'open' as probe, case when $2::sendledger.message_class = 'otp' then 1
         when r.rate_unit = 'recipients' then least(r.max_batch, ${BULK_ROWS}, ${LARGEST_REQUEST})::integer
         else least(r.max_batch, ${BULK_ROWS})::integer end as max_batch, e.epoch_no,
       least(r.max_open_submissions - busy.of_lane, case when r.rate_unit = 'requests' then ceil(r.rate_per_second * $3 / 1000) - busy.requests end)::integer as room,
       case when r.rate_unit = 'recipients' then ceil(r.rate_per_second * $3 / 1000)::integer - busy.rows end as row_room,
       case when shop.opens_at > now() then shop.opens_at
         when shop.closes_at <= now() + $3 * interval '1 ms' then (select n.opens_at from sendledger.window_at(shop.closes_at, l.window_opens, l.window_closes, l.window_zone) n)
         end as closed_until,
       shop.closes_at
     from sendledger.route r
     join sendledger.lane l on l.route_id = r.id and l.message_class = $2::sendledger.message_class
     cross join sendledger.dataset_epoch e
     -- What is more urgent is sent first, and takes the rate before this.
     cross join lateral (select count(*) as requests, coalesce(sum(s.size), 0) as rows, count(*) filter (where s.message_class = l.message_class) as of_lane
       from sendledger.submission s where s.route_id = r.id and s.message_class <= l.message_class and s.state = 'open') busy
     left join lateral sendledger.window_at(now(), l.window_opens, l.window_closes, l.window_zone) shop on l.window_zone is not null
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
      closedUntil: gate.closed_until,
      closesAt: gate.closes_at,
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
  readonly dueAt: Date;
  readonly priceKey: string;
  readonly cancelled: boolean;
  /** `ahead`: it goes to the provider now, which holds it. `late`: it was to, and there is no time left. */
  readonly held: 'no' | 'ahead' | 'late';
}

/**
 * The next due rows by `outbound_message_claim`. Rows whose `submit_by` ends within the lease are left to the expiry
 * sweep. No bound on `created_at`: it would strand scheduled and recovered rows. A provider holds what can be with it in time, at a
 * time that the window allows; a request of it has one time, so that belongs to its content.
 */
const DUE_COLUMNS = `m.id, m.created_at, m.tenant_id, m.recipient, m.due_at, now() as at, m.message_class::text || ':' || coalesce(m.country, '*') as price_key,
    case when m.held_by = 'us' then m.submit_by
      else least(m.submit_by, m.scheduled_for - coalesce((select r.schedule_lead from sendledger.route r where r.id = $1), interval '0')) end as not_after,
    case when m.held_by = 'us' then 'no'
      when m.scheduled_for - (select r.schedule_lead from sendledger.route r where r.id = $1) > now() + $4 * interval '1 ms'
        and (select w.earlier = w.later from sendledger.route r cross join lateral sendledger.wall_clock(m.scheduled_for at time zone r.provider_zone, r.provider_zone) w where r.id = $1)
        and (select sendledger.due_in_window(m.scheduled_for, l.window_opens, l.window_closes, l.window_zone) = m.scheduled_for
          from sendledger.lane l where l.route_id = $1 and l.message_class = $2::sendledger.message_class) then 'ahead'
      else 'late' end as held,
    case when $5::boolean then md5(row(m.tenant_id, m.sender_id, m.body, m.encoding, m.dlt_entity_id, m.dlt_template_id,
      case when m.held_by = 'provider' then row(m.scheduled_for, m.scheduled_tz, m.scheduled_offset_s)::text end)::text) end as content,
    ${COVERED_BY_CANCELLATION} as cancelled`;

export const PICK_DUE = `select ${DUE_COLUMNS}
  from sendledger.outbound_message m
  where m.route_id = $1 and m.message_class = $2::sendledger.message_class and m.state in ('pending', 'retry')
    and (m.due_at, m.id) >= ($6::timestamptz, $7::bigint) and m.due_at <= now() and m.submit_by > now() + $4 * interval '1 ms'
  order by m.due_at, m.id
  limit $3
  for update skip locked`;

/** The same where several tenants wait: each in its turn gives its share, its own oldest first, by `outbound_message_fair`. */
export const PICK_FAIR = `select due.* from unnest($6::text[], $7::integer[], $8::timestamptz[], $9::bigint[]) with ordinality as t(tenant_id, share, from_due, from_id, turn)
  cross join lateral (
    select ${DUE_COLUMNS}
    from sendledger.outbound_message m
    where m.route_id = $1 and m.message_class = $2::sendledger.message_class and m.state in ('pending', 'retry')
      and m.tenant_id = t.tenant_id and (m.due_at, m.id) >= (t.from_due, t.from_id) and m.due_at <= now() and m.submit_by > now() + $4 * interval '1 ms'
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
): Promise<{ readonly rows: DueRow[]; readonly at: Date | null }> {
  const fair = turns.length > 1;
  const from = (tenantId: string | undefined) => request.hint?.from.get(tenantId ?? '') ?? FROM_THE_START;
  const starts = turns.map((turn) => from(turn.tenantId));
  const rows = await rowsOf<{
    id: string;
    created_at: Date;
    tenant_id: string;
    recipient: string;
    due_at: Date;
    at: Date;
    not_after: Date;
    price_key: string;
    held: DueRow['held'];
    content: string | null;
    cancelled: boolean;
  }>(sql, fair ? PICK_FAIR : PICK_DUE, [
    request.routeId,
    request.messageClass,
    limit,
    request.leaseMs,
    maxBatch > 1,
    ...(fair
      ? [
          turns.map((t) => t.tenantId),
          turns.map((t) => t.share),
          starts.map((start) => start.dueAt),
          starts.map((start) => start.id),
        ]
      : [from(turns[0]?.tenantId).dueAt, from(turns[0]?.tenantId).id]),
  ]);
  return {
    at: rows[0]?.at ?? null,
    rows: rows.map((row) => ({
      id: row.id,
      createdAt: row.created_at,
      tenantId: row.tenant_id,
      recipient: row.recipient,
      dueAt: row.due_at,
      notAfter: row.not_after,
      priceKey: row.price_key,
      held: row.held,
      content: row.content,
      cancelled: row.cancelled,
    })),
  };
}

const FROM_THE_START = { dueAt: '-infinity', id: '0' };

/** Outside the window: nothing is dropped, it is due again when that opens. */
async function moveToOpening(sql: Sql, rows: readonly DueRow[], opensAt: Date): Promise<void> {
  const [ids, earliest, latest] = rowKeys(rows);
  await sql.query(
    `update sendledger.outbound_message m set due_at = $4, state_reason = 'outside_window', updated_at = now()
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text in ('pending', 'retry')`,
    [ids, earliest, latest, opensAt],
  );
}

/** A provider was to hold these, and could not be given them in time: we hold them, and send them when they are due. */
async function takeHome(sql: Sql, lane: LaneRef, rows: readonly DueRow[]): Promise<void> {
  const [ids, earliest, latest] = rowKeys(rows);
  await sql.query(
    `update sendledger.outbound_message m
     set held_by = 'us', updated_at = now(),
       due_at = (select sendledger.due_in_window(greatest(now(), m.scheduled_for), l.window_opens, l.window_closes, l.window_zone)
         from sendledger.lane l where l.route_id = $4 and l.message_class = $5::sendledger.message_class)
     where m.id = any ($1::bigint[]) and m.created_at >= $2 and m.created_at <= $3 and m.state::text in ('pending', 'retry')`,
    [ids, earliest, latest, lane.routeId, lane.messageClass],
  );
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
    from (select p.pos, ($12::integer[])[p.pos] as price from (select width_bucket(m.id, $8::bigint[]) as pos) p) x)
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

/**
 * Lanes of a class that have something due. One index probe per lane, whatever the length of its queue.
 *
 * @param starts where a lane's rows begin, by `route id`, as far as anybody knows
 */
export async function lanesWithWork(
  sql: Sql,
  messageClass: MessageClass,
  starts: ReadonlyMap<string, { readonly dueAt: string | Date; readonly id: string }> = new Map(),
): Promise<LaneRef[]> {
  const rows = await rowsOf<{ route_id: string; message_class: MessageClass }>(
    sql,
    `select l.route_id, l.message_class
     from sendledger.lane l
     join sendledger.route r on r.id = l.route_id
     -- Not EXISTS: that is planned as a semi join, which reads the whole backlog.
     cross join lateral (
       select from sendledger.outbound_message m
       where m.route_id = l.route_id and m.message_class = l.message_class and m.state in ('pending', 'retry') and m.due_at <= now()
         and (m.due_at, m.id) >= (coalesce(($3::timestamptz[])[array_position($2::bigint[], l.route_id)], '-infinity'),
           coalesce(($4::bigint[])[array_position($2::bigint[], l.route_id)], 0))
       order by m.due_at, m.id limit 1
     ) due
     where l.message_class = $1::sendledger.message_class and l.paused_at is null and r.paused_at is null and not r.hold and r.retired_at is null
       and (r.breaker_state = 'closed' or r.probe_at <= clock_timestamp())
     order by l.route_id`,
    [
      messageClass,
      [...starts.keys()],
      [...starts.values()].map((start) => start.dueAt),
      [...starts.values()].map((start) => start.id),
    ],
  );
  return rows.map((row) => ({ routeId: row.route_id, messageClass: row.message_class }));
}
