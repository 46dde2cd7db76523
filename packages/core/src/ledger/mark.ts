import type pg from 'pg';
import type { MessageClass } from '../domain/state.ts';
import type { LaneRef, RowRef } from './identity.ts';
import { NEXT_PROBE_AT } from './probe-pause.ts';
import { BUCKET, BULK_ROWS, LARGEST_REQUEST } from './route-rate.ts';
import { rowsOf, type Sql } from './sql.ts';
import { durably } from './transaction.ts';

export interface MarkRequest extends LaneRef {
  /** Requests this worker can start now: it marks no more than it has free connections, and tokens, for. */
  readonly limit: number;
  /** Recipients these requests may have together, where the route's rate is counted in recipients; null: no such limit. */
  readonly rowLimit?: number | null;
  readonly workerId: string;
  /** The environment this worker was started in; a copied database under another name does not send. */
  readonly environment: string;
  /** Request deadline plus margin. */
  readonly leaseMs: number;
}

/** A submission this worker now owns, with the rows its request is built from. */
export interface MarkedSubmission extends RowRef {
  readonly routeId: string;
  readonly messageClass: MessageClass;
  readonly size: number;
  /** Every outcome must name it: a late worker of another timeline cannot write. */
  readonly leaseToken: string;
  readonly requestedAt: Date;
  /** The one request that an open breaker lets through; its outcome decides whether the breaker closes. */
  readonly isProbe: boolean;
  /** The request must have left by then, by the database's clock. */
  readonly notAfter: Date;
  readonly rows: readonly MarkedRow[];
}

export interface MarkedRow extends RowRef {
  readonly attemptKey: string;
  readonly recipient: string;
  readonly senderId: string | null;
  readonly body: string;
  readonly encoding: 'GSM7' | 'UCS2';
  readonly dltEntityId: string | null;
  readonly dltTemplateId: string | null;
  readonly attemptCount: number;
  readonly submitBy: Date;
  /** The provider shall hold it until then; null: at once. */
  readonly holdUntil: Date | null;
}

/**
 * The route row is locked first and alone, so that the statement after it has a snapshot that is newer than the lock: a
 * pause, a breaker or a hold that was being written is waited for and then seen, and so are the marks of other workers.
 */
export const LOCK_ROUTE = 'select from sendledger.route r where r.id = $1 for no key update';

/**
 * THE list of conditions under which a request may leave; there is no other. The submission is open, its lease alive, the
 * time before `not_after`; route and lane not paused, nor told to wait, nor at a rate of 0; the breaker closed, or this is the probe whose time has come; requests
 * and rows on the wire under the route's bounds (ambiguous ones hold no place); no hold; and the dataset is the one the
 * submission was claimed in: epoch number, environment, cluster and timeline.
 */
export const MARK = `with gate as materialized (
    select e.epoch_no, r.breaker_state = 'closed' as breaker_closed, (r.breaker_state = 'open' and r.probe_at <= clock_timestamp()) as probe_due,
      -- Bulk that waits for its replies must not hold every place: a part is left to one-time passwords.
      r.max_in_flight_requests - case when $2::sendledger.message_class = 'otp' then 0 when r.max_in_flight_requests > 1 then ceil(r.max_in_flight_requests * r.otp_reserve) else 0 end - busy.requests as request_room,
      r.max_in_flight_rows - case when $2::sendledger.message_class = 'otp' then 0 else floor(r.max_in_flight_rows * r.otp_reserve) end - busy.rows as row_room,
      busy.rows = 0 as idle
    from sendledger.route r
    join sendledger.lane l on l.route_id = r.id and l.message_class = $2::sendledger.message_class
    cross join sendledger.dataset_epoch e
    cross join lateral (
      select count(*) as requests, coalesce(sum(s.size), 0) as rows from sendledger.submission s
      -- Also one whose lease is over: it holds its place until the sweep has counted it for the breaker, or places would be free
      -- before the failures are seen.
      where s.route_id = r.id and s.state = 'marked'
    ) busy
    where r.id = $1 and r.paused_at is null and l.paused_at is null and not r.hold
      and coalesce(r.throttled_until, '-infinity') <= clock_timestamp() and coalesce(r.rate_per_second, 1) > 0
      and e.status = 'ok' and e.environment = $4
      and e.system_identifier = (select c.system_identifier::text from pg_control_system() c)
      and e.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
  ), next as materialized (
    select s.id, s.created_at, s.size
    from sendledger.submission s, gate g
    where s.route_id = $1 and s.message_class = $2::sendledger.message_class and s.state = 'open'
      and s.lease_until > clock_timestamp() and s.not_after > clock_timestamp() and s.epoch_no = g.epoch_no
      and (g.breaker_closed or (s.is_probe and g.probe_due))
    order by s.id
    limit greatest(0, least($3::integer, (select case when g.breaker_closed then g.request_room else least(g.request_room, 1) end from gate g)))
    for update of s skip locked
  ), fitting as materialized (
    select n.id, n.created_at
    from (select n.*, sum(n.size) over (order by n.id) as so_far, row_number() over (order by n.id) as place from next n) n, gate g
    -- A request larger than the whole bound goes when nothing else is on the wire, or it would never go.
    where (n.so_far <= g.row_room or (n.place = 1 and g.idle)) and n.so_far <= coalesce($7::bigint, n.so_far)
  ), slot as (
    -- A probe takes its slot with its mark: a prober that dies here costs one interval, and two never leave together.
    update sendledger.route r
    set probe_at = ${NEXT_PROBE_AT}, probes = r.probes + 1, probe_forced = false, updated_at = now()
    where r.id = $1 and r.breaker_state = 'open' and r.probe_at <= clock_timestamp() and exists (select from fitting)
  )
  update sendledger.submission s
  set state = 'marked', requested_at = date_trunc('milliseconds', clock_timestamp()), marked_by = $5, lease_token = gen_random_uuid(),
      lease_until = clock_timestamp() + $6 * interval '1 ms'
  where s.id = any (array(select f.id from fitting f))
    and s.created_at >= (select min(f.created_at) from fitting f) and s.created_at <= (select max(f.created_at) from fitting f)
    and s.state::text = 'open'
  returning s.id, s.created_at, s.size, s.lease_token, s.requested_at, s.is_probe, s.not_after`;

/** The rows of marked submissions: what the requests are built from. */
export const MARKED_ROWS = `select m.id, m.created_at, m.submission_id, m.attempt_key, m.recipient, m.sender_id, m.body, m.encoding,
    m.dlt_entity_id, m.dlt_template_id, m.attempt_count, m.submit_by,
    case when m.held_by = 'provider' and m.scheduled_for > now() then m.scheduled_for end as hold_until
  from sendledger.outbound_message m
  where m.submission_id = any ($1::bigint[]) and m.state = 'claimed'
  order by m.id`;

/**
 * open → marked for the next submissions of a lane: the mark is ownership. Durable when this returns; whoever sends without
 * a mark, or after its lease, is wrong.
 */
export async function markNext(pool: pg.Pool, request: MarkRequest): Promise<MarkedSubmission[]> {
  return durably(pool, 'mark', (sql) => markNextIn(sql, request));
}

/** As {@link markNext}, inside a transaction the caller holds (tests of races keep it open). */
export async function markNextIn(sql: Sql, request: MarkRequest): Promise<MarkedSubmission[]> {
  await sql.query(LOCK_ROUTE, [request.routeId]);
  const marked = await rowsOf<{
    id: string;
    created_at: Date;
    size: number;
    lease_token: string;
    requested_at: Date;
    is_probe: boolean;
    not_after: Date;
  }>(sql, MARK, [
    request.routeId,
    request.messageClass,
    request.limit,
    request.environment,
    request.workerId,
    request.leaseMs,
    request.rowLimit ?? null,
  ]);
  if (marked.length === 0) return [];
  const rows = await rowsOf<{
    id: string;
    created_at: Date;
    submission_id: string;
    attempt_key: string;
    recipient: string;
    sender_id: string | null;
    body: string;
    encoding: 'GSM7' | 'UCS2';
    dlt_entity_id: string | null;
    dlt_template_id: string | null;
    attempt_count: number;
    submit_by: Date;
    hold_until: Date | null;
  }>(sql, MARKED_ROWS, [marked.map((s) => s.id)]);
  const bySubmission = Map.groupBy(rows, (row) => row.submission_id);
  return marked.map((s) => ({
    id: s.id,
    createdAt: s.created_at,
    routeId: request.routeId,
    messageClass: request.messageClass,
    size: s.size,
    leaseToken: s.lease_token,
    requestedAt: s.requested_at,
    isProbe: s.is_probe,
    notAfter: s.not_after,
    rows: (bySubmission.get(s.id) ?? []).map((row) => ({
      id: row.id,
      createdAt: row.created_at,
      attemptKey: row.attempt_key,
      recipient: row.recipient,
      senderId: row.sender_id,
      body: row.body,
      encoding: row.encoding,
      dltEntityId: row.dlt_entity_id,
      dltTemplateId: row.dlt_template_id,
      attemptCount: row.attempt_count,
      submitBy: row.submit_by,
      holdUntil: row.hold_until,
    })),
  }));
}

/** A lane, and the provider account its requests go to. */
export interface LaneWork extends LaneRef {
  readonly provider: string;
  readonly account: string;
  /** IANA zone of the provider's clock strings. */
  readonly providerZone: string;
  /** Recipients a submission of this lane may have. */
  readonly maxBatch: number;
  /** `open`: only a probe may leave, and none is due here. `probe`: one is. */
  readonly breaker: 'closed' | 'open' | 'probe';
  /** Probes since the breaker opened, those that were put off included. */
  readonly probes: number;
  /** A person wants the next probe sent without the free call before it. */
  readonly probeForced: boolean;
  /** Open submissions of the lane, as far as anybody could start at once. */
  readonly waiting: number;
  /** Open submissions of more urgent lanes of its route that may leave: they go first. */
  readonly urgent: number;
  /** What the route may send; null: no limit. */
  readonly rate: RouteRate | null;
}

/** The rate of a route over all workers. */
export interface RouteRate {
  /** Tokens a second. */
  readonly perSecond: number;
  readonly unit: 'requests' | 'recipients';
  /** Tokens at once: half of what the provider takes, since requests do not all reach it equally fast. */
  readonly burst: number;
  /** Tokens of the burst that only one-time passwords may use. */
  readonly reserve: number;
  /** Tokens that one request of the lane may need. */
  readonly largest: number;
}

/** Lanes of a class with an open submission. */
export async function lanesWithOpenSubmissions(sql: Sql, messageClass: MessageClass): Promise<LaneWork[]> {
  const rows = await rowsOf<{
    route_id: string;
    message_class: MessageClass;
    provider: string;
    account: string;
    provider_zone: string;
    max_batch: number;
    breaker: LaneWork['breaker'];
    probes: number;
    probe_forced: boolean;
    waiting: number;
    urgent: number;
    largest: number;
    rate: number | null;
    rate_unit: RouteRate['unit'];
    burst: number;
    reserve: number;
  }>(
    sql,
    `select l.route_id, l.message_class, r.provider, r.account, r.provider_zone, r.max_batch,
       case when r.breaker_state = 'closed' then 'closed'
         when r.probe_at <= clock_timestamp() and exists (select from sendledger.submission s where s.route_id = l.route_id
           and s.message_class = l.message_class and s.state = 'open' and s.is_probe and s.lease_until > clock_timestamp()) then 'probe'
         else 'open' end as breaker, r.probes, r.probe_forced,
       (select count(*) from (select from sendledger.submission s where s.route_id = l.route_id
         and s.message_class = l.message_class and s.state = 'open' limit 512) x)::integer as waiting,
       (select count(*) from (select from sendledger.submission s join sendledger.lane u on u.route_id = s.route_id and u.message_class = s.message_class
         where s.route_id = l.route_id and s.message_class < l.message_class and s.state = 'open' and u.paused_at is null
           and s.lease_until > clock_timestamp() and s.not_after > clock_timestamp() limit 512) x)::integer as urgent,
       r.rate_per_second::double precision as rate, r.rate_unit, ${BUCKET}::double precision as burst,
       (${BUCKET} * r.otp_reserve)::double precision as reserve,
       case when r.rate_unit = 'requests' or l.message_class = 'otp' then 1 else least(r.max_batch, ${BULK_ROWS}, ${LARGEST_REQUEST}) end::integer as largest
     from sendledger.lane l
     join sendledger.route r on r.id = l.route_id
     where l.message_class = $1::sendledger.message_class
       and exists (select from sendledger.submission s
         where s.route_id = l.route_id and s.message_class = l.message_class and s.state = 'open')
     order by l.route_id`,
    [messageClass],
  );
  return rows.map((row) => ({
    routeId: row.route_id,
    messageClass: row.message_class,
    provider: row.provider,
    account: row.account,
    providerZone: row.provider_zone,
    maxBatch: row.max_batch,
    breaker: row.breaker,
    probes: row.probes,
    probeForced: row.probe_forced,
    waiting: row.waiting,
    urgent: row.urgent,
    rate:
      row.rate === null
        ? null
        : { perSecond: row.rate, unit: row.rate_unit, burst: row.burst, reserve: row.reserve, largest: row.largest },
  }));
}
