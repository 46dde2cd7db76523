import type { MessageChannel, MessageClass } from '../domain/state.ts';
import type { MessageTemplate } from '../domain/template.ts';
import { writeAuditLog } from './audit-log.ts';
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
       default_sender_id, sender_required, national_digits)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (name) do nothing returning id`,
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
    ],
  );
  const [row] = made
    ? [made]
    : await rowsOf<{ id: string }>(sql, 'select id from sendledger.route where name = $1', [route.name]);
  if (row === undefined) throw new Error(`route ${route.name} is neither new nor there`);
  for (const [messageClass, within] of Object.entries(LANE_DEFAULTS))
    await sql.query(
      `insert into sendledger.lane (route_id, message_class, submit_within, receipt_within)
       values ($1, $2, $3, $4) on conflict do nothing`,
      [row.id, messageClass, within.submitWithin, within.receiptWithin],
    );
  return { id: row.id, made: made !== undefined };
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
}

export async function listRoutes(sql: Sql): Promise<RouteRow[]> {
  return rowsOf<RouteRow>(
    sql,
    `select r.id, r.name, r.provider, r.account, r.channel, r.max_batch as "maxBatch", r.paused_at is not null as paused,
       r.breaker_state as breaker, r.breaker_reason as "breakerReason", r.probe_at as "probeAt",
       r.clock_offset_ms::double precision as "clockOffsetMs", r.clock_pairs as "clockPairs",
       trim_scale(r.rate_per_second)::text as rate, r.rate_unit as "rateUnit"
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
  ];
  const added = await rowsOf(
    sql,
    `insert into sendledger.message_template
       (template_id, version, channel, message_class, body, variables, sender_id, dlt_entity_id, dlt_template_id)
     values ($1, $2::integer, $3, $4, $5, $6::jsonb, $7, $8, $9)
     on conflict do nothing returning 1`,
    values,
  );
  if (added.length > 0) return 'added';
  const same = await rowsOf(
    sql,
    `select 1 from sendledger.message_template t
     where t.template_id = $1 and t.version = $2::integer
       and (t.channel::text, t.message_class::text, t.body, t.variables) = ($3, $4, $5, $6::jsonb)
       and (t.sender_id, t.dlt_entity_id::text, t.dlt_template_id::text) is not distinct from ($7::text, $8::text, $9::text)`,
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
}

export async function listTemplates(sql: Sql): Promise<TemplateRow[]> {
  return rowsOf<TemplateRow>(
    sql,
    `select t.template_id as id, t.version::text as version, t.channel, t.message_class as "messageClass", t.body,
       t.retired_at is not null as retired
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
