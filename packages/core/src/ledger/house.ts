import { MESSAGE_CLASSES, type MessageChannel, type MessageClass } from '../domain/state.ts';
import type { MessageTemplate } from '../domain/template.ts';
import { needNameAndReason, writeAuditLog } from './audit-log.ts';
import type { RowRef } from './identity.ts';
import { release } from './release.ts';
import { countOf, rowsOf, type Sql } from './sql.ts';

export interface NewRoute {
  /** Lower case letters, digits, `-` and `_`. */
  readonly name: string;
  readonly provider: string;
  /** Which account of the provider; never a credential. */
  readonly account: string;
  readonly channel: MessageChannel;
  readonly maxBatch: number;
  readonly encodingRule: 'gsm7' | 'ascii';
  /** IANA zone of the provider's clock strings. */
  readonly providerZone: string;
  /** The sender of messages that name none; null: each message or its template must. */
  readonly defaultSenderId: string | null;
  /** Whether this route's provider refuses a message without a sender; then enqueue does. */
  readonly senderRequired: boolean;
  /** Length of numbers that the provider would read as national ones; such numbers are refused at enqueue. */
  readonly nationalDigits: number | null;
  /** Send windows of its lanes. Default: always open. */
  readonly windows?: Partial<Readonly<Record<MessageClass, LaneWindow>>>;
  /** Whole reports of its account that are read a minute at most, decimal text; `none`: no limit. Default 6. */
  readonly readsPerMinute?: string;
}

/** When a lane may send: from `opens` to before `closes`, over midnight where it closes before it opens. */
export interface LaneWindow {
  /** `HH:MM`. */
  readonly opens: string;
  /** `HH:MM`, `24:00` for the end of the day. */
  readonly closes: string;
  /** IANA zone by whose clock that is. */
  readonly zone: string;
}

/** Until when a message of a class is worth sending, and how long its receipt is waited for. */
const LANE_DEFAULTS: Readonly<Record<MessageClass, { submitWithin: string; receiptWithin: string }>> = {
  otp: { submitWithin: '10 minutes', receiptWithin: '1 day' },
  transactional: { submitWithin: '1 day', receiptWithin: '3 days' },
  promotional: { submitWithin: '1 day', receiptWithin: '3 days' },
};

/** Makes a route and its three lanes; a route of that name that is there already is answered and left as it is. */
export async function addRoute(sql: Sql, route: NewRoute): Promise<{ readonly id: string; readonly made: boolean }> {
  const [made] = await rowsOf<{ id: string }>(
    sql,
    `insert into sendledger.route (name, provider, account, channel, max_batch, encoding_rule, provider_zone,
       default_sender_id, sender_required, national_digits, reads_per_minute)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, case when $11 = 'none' then null else coalesce($11::numeric, 6) end) on conflict (name) do nothing returning id`,
    [
      route.name,
      route.provider,
      route.account,
      route.channel,
      route.maxBatch,
      route.encodingRule,
      route.providerZone,
      route.defaultSenderId,
      route.senderRequired,
      route.nationalDigits,
      route.readsPerMinute ?? null,
    ],
  );
  const [row] = made
    ? [made]
    : await rowsOf<{ id: string }>(sql, 'select id from sendledger.route where name = $1', [route.name]);
  if (row === undefined) throw new Error(`route ${route.name} is neither new nor there`);
  for (const messageClass of MESSAGE_CLASSES) {
    const within = LANE_DEFAULTS[messageClass];
    const window = route.windows?.[messageClass];
    await sql.query(
      `insert into sendledger.lane (route_id, message_class, submit_within, receipt_within, window_opens, window_closes, window_zone)
       values ($1, $2, $3, $4, $5, $6, sendledger.zone_or_null($7)) on conflict do nothing`,
      [row.id, messageClass, within.submitWithin, within.receiptWithin, ...windowValues(window)],
    );
  }
  return { id: row.id, made: made !== undefined };
}

/** A zone that this database does not know becomes null, and the lane's own check refuses a window without one. */
function windowValues(window: LaneWindow | null | undefined): (string | null)[] {
  return [window?.opens ?? null, window?.closes ?? null, window?.zone ?? null];
}

export interface RouteRow {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly account: string;
  readonly channel: MessageChannel;
  readonly maxBatch: number;
  readonly paused: boolean;
  /** Open: only a probe leaves. */
  readonly breaker: 'closed' | 'open';
  /** Why it opened, or what the last probe said. */
  readonly breakerReason: string | null;
  readonly probeAt: Date | null;
  /** What the provider's clock said minus ours, ms; null while no pair of a request and its record is known. */
  readonly clockOffsetMs: number | null;
  readonly clockPairs: number;
  /** Tokens a second, decimal text; null: no limit. */
  readonly rate: string | null;
  readonly rateUnit: 'requests' | 'recipients';
  /** How long before its time a message must be with the provider to be held there, `HH:MM:SS`; null: it holds none. */
  readonly scheduleLead: string | null;
  /** Whole reports of its account that are read a minute at most, decimal text; null: no limit. */
  readonly readsPerMinute: string | null;
  /** Of the lanes that are not always open. */
  readonly windows: readonly (LaneWindow & { readonly messageClass: MessageClass })[];
}

export async function listRoutes(sql: Sql): Promise<RouteRow[]> {
  return rowsOf<RouteRow>(
    sql,
    `select r.id, r.name, r.provider, r.account, r.channel, r.max_batch as "maxBatch", r.paused_at is not null as paused,
       r.breaker_state as breaker, r.breaker_reason as "breakerReason", r.probe_at as "probeAt",
       r.clock_offset_ms::double precision as "clockOffsetMs", r.clock_pairs as "clockPairs",
       trim_scale(r.rate_per_second)::text as rate, r.rate_unit as "rateUnit", r.schedule_lead::text as "scheduleLead",
       trim_scale(r.reads_per_minute)::text as "readsPerMinute",
       coalesce((select json_agg(json_build_object('messageClass', l.message_class, 'opens', left(l.window_opens::text, 5),
           'closes', left(l.window_closes::text, 5), 'zone', l.window_zone) order by l.message_class)
         from sendledger.lane l where l.route_id = r.id and l.window_zone is not null), '[]') as windows
     from sendledger.route r where r.retired_at is null order by r.id`,
  );
}

export interface NewRate {
  readonly routeId: string;
  /** `<class>:<country>`, `<class>:*` or `*`. */
  readonly priceKey: string;
  readonly currency: string;
  /** Decimal text, per unit (one recipient, one segment). */
  readonly price: string;
  readonly validFrom: Date | null;
  readonly validTo: Date | null;
}

/** Adds a price. The database refuses one that overlaps another of the same route and key. */
export async function addRate(sql: Sql, rate: NewRate): Promise<void> {
  await sql.query(
    `insert into sendledger.rate_card (route_id, price_key, currency, price, valid)
     values ($1, $2, $3, $4::numeric, tstzrange($5::timestamptz, $6::timestamptz))`,
    [rate.routeId, rate.priceKey, rate.currency, rate.price, rate.validFrom, rate.validTo],
  );
}

export interface RateRow {
  readonly route: string;
  readonly priceKey: string;
  readonly currency: string;
  readonly price: string;
  readonly valid: string;
}

export async function listRates(sql: Sql): Promise<RateRow[]> {
  return rowsOf<RateRow>(
    sql,
    `select r.name as route, c.price_key as "priceKey", c.currency, c.price::text as price, c.valid::text as valid
     from sendledger.rate_card c join sendledger.route r on r.id = c.route_id order by r.name, c.price_key, c.valid`,
  );
}

/** The region in which numbers without a country code are read. */
export async function setTenantRegion(sql: Sql, tenantId: string, region: string): Promise<void> {
  await sql.query(
    `insert into sendledger.tenant (tenant_id, default_region) values ($1, $2)
     on conflict (tenant_id) do update set default_region = excluded.default_region`,
    [tenantId, region],
  );
}

/** What an operator sets of a tenant; what is left out stays as it is. */
export interface TenantSettings {
  /** ISO country by whose rules numbers without a country code are read. */
  readonly region?: string;
  /** What it may send; `all`: every class. What waits already is not asked again. */
  readonly classes?: readonly MessageClass[] | 'all';
  /** Its share of a lane beside the other tenants, 1 to 1000. */
  readonly weight?: number;
}

/** Makes or changes a tenant, and says in the audit log what was set. */
export async function setTenant(
  sql: Sql,
  tenantId: string,
  settings: TenantSettings,
  by: { readonly who: string; readonly why: string },
): Promise<void> {
  needNameAndReason(`Setting tenant ${tenantId}`, by.who, by.why);
  const { region, classes, weight } = settings;
  await sql.query(
    `insert into sendledger.tenant as t (tenant_id, default_region, allowed_classes, weight)
     values ($1, $2, $4::sendledger.message_class[], coalesce($5::integer, 1))
     on conflict (tenant_id) do update
     set default_region = coalesce($2, t.default_region),
       allowed_classes = case when $3 then $4::sendledger.message_class[] else t.allowed_classes end, weight = coalesce($5::integer, t.weight)`,
    [tenantId, region ?? null, classes !== undefined, Array.isArray(classes) ? classes : null, weight ?? null],
  );
  await writeAuditLog(sql, {
    who: by.who,
    action: 'tenant_set',
    subject: `tenant ${tenantId}`,
    why: by.why,
    details: { ...settings },
  });
}

export interface TenantRow {
  readonly id: string;
  readonly region: string | null;
  /** What it may send; null: every class. */
  readonly classes: readonly MessageClass[] | null;
  readonly weight: number;
}

export async function listTenants(sql: Sql): Promise<TenantRow[]> {
  return rowsOf<TenantRow>(
    sql,
    `select t.tenant_id as id, t.default_region as region, t.allowed_classes::text[] as classes, t.weight
     from sendledger.tenant t order by t.tenant_id`,
  );
}

/**
 * Registers an approved template. A version is never changed once it is there: what was approved is what is sent. Answers
 * whether it is new; the same version with other content is refused.
 */
export async function addTemplate(sql: Sql, template: MessageTemplate): Promise<'added' | 'same' | 'differs'> {
  const values = [
    template.id,
    template.version,
    template.channel,
    template.messageClass,
    template.body,
    JSON.stringify(template.variables),
    template.senderId,
    template.dltEntityId,
    template.dltTemplateId,
    JSON.stringify(template.fallback ?? []),
    template.validForSeconds ?? null,
  ];
  const added = await rowsOf(
    sql,
    `insert into sendledger.message_template
       (template_id, version, channel, message_class, body, variables, sender_id, dlt_entity_id, dlt_template_id, fallback, valid_for_s)
     values ($1, $2::integer, $3, $4, $5, $6::jsonb, $7, $8, $9, $10::jsonb, $11)
     on conflict do nothing returning 1`,
    values,
  );
  if (added.length > 0) return 'added';
  const same = await rowsOf(
    sql,
    `select 1 from sendledger.message_template t
     where t.template_id = $1 and t.version = $2::integer
       and (t.channel::text, t.message_class::text, t.body, t.variables, t.fallback) = ($3, $4, $5, $6::jsonb, $10::jsonb)
       and (t.sender_id, t.dlt_entity_id::text, t.dlt_template_id::text, t.valid_for_s) is not distinct from ($7::text, $8::text, $9::text, $11::integer)`,
    values,
  );
  return same.length > 0 ? 'same' : 'differs';
}

export interface TemplateRow {
  readonly id: string;
  readonly version: string;
  readonly channel: MessageChannel;
  readonly messageClass: MessageClass;
  readonly body: string;
  readonly retired: boolean;
  /** What follows a message of it, unless that says otherwise. */
  readonly fallback: NonNullable<MessageTemplate['fallback']>;
}

export async function listTemplates(sql: Sql): Promise<TemplateRow[]> {
  return rowsOf<TemplateRow>(
    sql,
    `select t.template_id as id, t.version::text as version, t.channel, t.message_class as "messageClass", t.body,
       t.retired_at is not null as retired, t.fallback
     from sendledger.message_template t order by t.template_id, t.version`,
  );
}

/** Bounds of a route that an operator sets; what is left out stays as it is. */
export interface RouteBounds {
  /** Requests on the wire at once, all processes together. */
  readonly maxInFlightRequests?: number;
  /** Recipients on the wire at once. */
  readonly maxInFlightRows?: number;
  /** Ambiguous or unsent outcomes in a row after which the breaker opens. */
  readonly breakerThreshold?: number;
  /** Pause before the first probe, ms; it doubles with each, up to the longest. */
  readonly probeFirstMs?: number;
  readonly probeLongestMs?: number;
  /** IANA zone of the provider's clock strings. What was learned of its clock under another zone is forgotten. */
  readonly providerZone?: string;
  /** Tokens a second over all workers, decimal text; `none`: no limit; `0`: nothing leaves. */
  readonly rate?: string;
  /** What the provider counts. */
  readonly rateUnit?: 'requests' | 'recipients';
  /** What the provider takes at once over its rate, as so many seconds of it; decimal text. */
  readonly burstSeconds?: string;
  /** Share of the burst that only one-time passwords may use, from 0 to less than 1; decimal text. */
  readonly otpReserve?: string;
  /**
   * How long before its time a message must be with the provider to be held there, as an interval of Postgres (`5 minutes`);
   * `none`: this provider holds none.
   */
  readonly scheduleLead?: string;
  /** Whole reports of its account that are read a minute at most, decimal text; `none`: no limit. */
  readonly readsPerMinute?: string;
}

/** Changes bounds of a route, and says in the audit log what was changed. Answers whether there is such a route. */
export async function setRouteBounds(
  sql: Sql,
  routeId: string,
  bounds: RouteBounds,
  by: { readonly who: string; readonly why: string },
): Promise<boolean> {
  const changed = await countOf(
    sql,
    `update sendledger.route r
     set max_in_flight_requests = coalesce($2, r.max_in_flight_requests), max_in_flight_rows = coalesce($3, r.max_in_flight_rows),
       breaker_threshold = coalesce($4, r.breaker_threshold), probe_first_ms = coalesce($5, r.probe_first_ms),
       probe_longest_ms = greatest(coalesce($6, r.probe_longest_ms), coalesce($5, r.probe_first_ms)),
       provider_zone = coalesce($7, r.provider_zone),
       clock_offset_ms = case when $7 <> r.provider_zone then null else r.clock_offset_ms end,
       clock_seen_at = case when $7 <> r.provider_zone then null else r.clock_seen_at end,
       clock_pairs = case when $7 <> r.provider_zone then 0 else r.clock_pairs end,
       rate_per_second = case when $8 = 'none' then null else coalesce(nullif($8, 'none')::numeric, r.rate_per_second) end,
       rate_unit = coalesce($9, r.rate_unit), burst_seconds = coalesce($10::numeric, r.burst_seconds),
       otp_reserve = coalesce($11::numeric, r.otp_reserve),
       schedule_lead = case when $12 = 'none' then null else coalesce(nullif($12, 'none')::interval, r.schedule_lead) end,
       reads_per_minute = case when $13 = 'none' then null else coalesce(nullif($13, 'none')::numeric, r.reads_per_minute) end,
       updated_at = now()
     where r.id = $1`,
    [
      routeId,
      bounds.maxInFlightRequests ?? null,
      bounds.maxInFlightRows ?? null,
      bounds.breakerThreshold ?? null,
      bounds.probeFirstMs ?? null,
      bounds.probeLongestMs ?? null,
      bounds.providerZone ?? null,
      bounds.rate ?? null,
      bounds.rateUnit ?? null,
      bounds.burstSeconds ?? null,
      bounds.otpReserve ?? null,
      bounds.scheduleLead ?? null,
      bounds.readsPerMinute ?? null,
    ],
  );
  if (changed === 0) return false;
  await writeAuditLog(sql, {
    who: by.who,
    action: 'route_set',
    subject: `route ${routeId}`,
    message: null,
    why: by.why,
    details: { ...bounds },
  });
  return true;
}

/** Rows of one statement. */
const WAITING_ROWS = 10_000;

/**
 * Sets or clears the send window of a lane, says so in the audit log, and lets what waits for the old window be judged by the new
 * one: such rows are due from now or from their schedule, and the next claim looks. Answers whether there is such a lane.
 *
 * The window and its audit entry are one statement, then rows follow in batches: with statements that commit by themselves a
 * large backlog is never locked as a whole, and no claim of before the commit can set a row by the old window behind our back.
 *
 * @throws a violation of `lane_window_whole` where this database does not know the zone
 */
export async function setLaneWindow(
  sql: Sql,
  routeId: string,
  messageClass: MessageClass,
  window: LaneWindow | null,
  by: { readonly who: string; readonly why: string },
): Promise<boolean> {
  needNameAndReason(`The window of route ${routeId}`, by.who, by.why);
  const set = await countOf(sql, SET_WINDOW, [
    routeId,
    messageClass,
    ...windowValues(window),
    by.who,
    by.why,
    JSON.stringify({ messageClass, window }),
  ]);
  if (set === 0) return false;
  // What is claimed and not marked would leave by the old window: it is claimed again by the new one.
  for (;;) {
    const open = await rowsOf<RowRef>(sql, OPEN_OF_LANE, [routeId, messageClass]);
    if (open.length === 0) break;
    await release(sql, open);
  }
  while (
    (await countOf(sql, dueByTheNewWindow('skip locked'), [routeId, messageClass, WAITING_ROWS])) === WAITING_ROWS
  );
  // And those that a claim was putting off by the old window just then.
  await countOf(sql, dueByTheNewWindow(''), [routeId, messageClass, WAITING_ROWS]);
  return true;
}

/** The route's row is written first, as by everything that a mark has to respect. */
const SET_WINDOW = `
with touched as (
  update sendledger.route r set updated_at = now() where r.id = $1 returning r.id
), changed as (
  update sendledger.lane l set window_opens = $3, window_closes = $4, window_zone = sendledger.zone_or_null($5), updated_at = now()
  where l.route_id in (select t.id from touched t) and l.message_class = $2::sendledger.message_class
  returning 1
)
insert into sendledger.audit_log (who, action, subject, why, details)
select $6, 'lane_window_set', 'route ' || $1, $7, $8::jsonb from changed`;

const OPEN_OF_LANE = `select s.id, s.created_at as "createdAt" from sendledger.submission s
  where s.route_id = $1 and s.message_class = $2::sendledger.message_class and s.state = 'open' order by s.id limit 500`;

const dueByTheNewWindow = (locked: 'skip locked' | '') => `
with waiting as materialized (
  select m.id, m.created_at from sendledger.outbound_message m
  where m.route_id = $1 and m.message_class = $2::sendledger.message_class and m.state in ('pending', 'retry')
    and m.due_at > now() and m.state_reason = 'outside_window'
  order by m.due_at, m.id limit $3 for update ${locked}
)
update sendledger.outbound_message m
set due_at = greatest(now(), m.scheduled_for), state_reason = null, updated_at = now()
from waiting w
where m.id = w.id and m.created_at = w.created_at and m.state in ('pending', 'retry')`;
