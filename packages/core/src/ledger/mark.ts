import type pg from 'pg';
import type { MessageClass } from '../domain/state.ts';
import { byId, type LaneRef, type RowRef } from './identity.ts';
import { BUCKET, BULK_ROWS, LARGEST_REQUEST } from './route-rate.ts';
import { rowsOf, type Sql } from './sql.ts';
import { atOnce } from './transaction.ts';

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

/** Locks a route's row, as every mark does: what is written under it is seen by the next mark, and waits for those under way. */
export const LOCK_ROUTE = 'select from sendledger.route r where r.id = $1 for no key update';

/** See `sendledger.mark_next` in the migrations: THE list of conditions under which a request may leave stands there. */
const MARK_NEXT = 'select * from sendledger.mark_next($1, $2, $3, $4, $5, $6, $7)';

/**
 * open → marked for the next submissions of a lane: the mark is ownership. Durable when this returns; whoever sends without
 * a mark, or after its lease, is wrong.
 */
export async function markNext(pool: pg.Pool, request: MarkRequest): Promise<MarkedSubmission[]> {
  return atOnce(pool, 'mark', (sql) => markNextIn(sql, request));
}

/** As {@link markNext}, inside a transaction the caller holds (tests of races keep it open). */
export async function markNextIn(sql: Sql, request: MarkRequest): Promise<MarkedSubmission[]> {
  const rows = await rowsOf<{
    submission_id: string;
    submission_created_at: Date;
    size: number;
    lease_token: string;
    requested_at: Date;
    is_probe: boolean;
    not_after: Date;
    id: string;
    created_at: Date;
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
  }>(sql, MARK_NEXT, [
    request.routeId,
    request.messageClass,
    request.limit,
    request.environment,
    request.workerId,
    request.leaseMs,
    request.rowLimit ?? null,
  ]);
  const marked = [...Map.groupBy(rows, (row) => row.submission_id).values()].flatMap((of) => {
    const [first] = of;
    if (first === undefined) return [];
    return {
      id: first.submission_id,
      createdAt: first.submission_created_at,
      routeId: request.routeId,
      messageClass: request.messageClass,
      size: first.size,
      leaseToken: first.lease_token,
      requestedAt: first.requested_at,
      isProbe: first.is_probe,
      notAfter: first.not_after,
      rows: of.map((row) => ({
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
    };
  });
  return [...byId(marked)];
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
