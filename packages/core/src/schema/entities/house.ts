import { defineEntity, p } from '@mikro-orm/core';
import type { MessageChannel, MessageClass } from '../../domain/state.ts';

/** A provider account on one channel. */
export const Route = defineEntity({
  name: 'Route',
  tableName: 'route',
  properties: {
    id: p.bigint('string').primary(),
    name: p.text(),
    provider: p.text(),
    account: p.text(),
    channel: p.text().$type<MessageChannel>(),
    maxBatch: p.integer(),
    encodingRule: p.text().$type<'gsm7' | 'ascii'>(),
    defaultSenderId: p.text().nullable(),
    senderRequired: p.boolean(),
    nationalDigits: p.smallint().nullable(),
    providerZone: p.text(),
    maxInFlightRequests: p.integer(),
    maxInFlightRows: p.integer(),
    maxOpenSubmissions: p.integer(),
    pausedAt: p.datetime().nullable(),
    pauseReason: p.text().nullable(),
    breakerState: p.text().$type<'closed' | 'open'>(),
    breakerFailures: p.integer(),
    breakerThreshold: p.integer(),
    breakerOpenedAt: p.datetime().nullable(),
    breakerReason: p.text().nullable(),
    breakerClosedAt: p.datetime().nullable(),
    probeAt: p.datetime().nullable(),
    probes: p.integer(),
    probeFirstMs: p.integer(),
    probeLongestMs: p.integer(),
    clockOffsetMs: p.bigint('string').nullable(),
    clockPairs: p.integer(),
    clockSeenAt: p.datetime().nullable(),
    ratePerSecond: p.decimal('string').nullable(),
    rateUnit: p.text().$type<'requests' | 'recipients'>(),
    burstSeconds: p.decimal('string'),
    otpReserve: p.decimal('string'),
    throttledUntil: p.datetime().nullable(),
    scheduleLead: p.interval().nullable(),
    readsPerMinute: p.decimal('string').nullable(),
    probeForced: p.boolean(),
    hold: p.boolean(),
    holdReason: p.text().nullable(),
    retiredAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

/** Route × message class. Intervals are read as text. */
export const Lane = defineEntity({
  name: 'Lane',
  tableName: 'lane',
  properties: {
    routeId: p.bigint('string').primary(),
    messageClass: p.text().$type<MessageClass>().primary(),
    pausedAt: p.datetime().nullable(),
    pauseReason: p.text().nullable(),
    submitWithin: p.interval(),
    receiptWithin: p.interval(),
    settleWithin: p.interval(),
    windowOpens: p.time().nullable(),
    windowCloses: p.time().nullable(),
    windowZone: p.text().nullable(),
    updatedAt: p.datetime(),
  },
});

export const Tenant = defineEntity({
  name: 'Tenant',
  tableName: 'tenant',
  properties: {
    tenantId: p.text().primary(),
    defaultRegion: p.text().nullable(),
    weight: p.integer(),
    allowedClasses: p.array().$type<MessageClass[]>().nullable(),
  },
});

export const TenantRoute = defineEntity({
  name: 'TenantRoute',
  tableName: 'tenant_route',
  properties: {
    tenantId: p.text().primary(),
    channel: p.text().$type<MessageChannel>().primary(),
    messageClass: p.text().$type<MessageClass>().primary(),
    routeId: p.bigint('string'),
  },
});

/** The price of one unit in a period. */
export const RateCard = defineEntity({
  name: 'RateCard',
  tableName: 'rate_card',
  properties: {
    id: p.bigint('string').primary(),
    routeId: p.bigint('string'),
    priceKey: p.text(),
    currency: p.text(),
    price: p.decimal('string'),
    valid: p.text(),
  },
});

export const MessageTemplate = defineEntity({
  name: 'MessageTemplate',
  tableName: 'message_template',
  properties: {
    templateId: p.text().primary(),
    version: p.integer().primary(),
    channel: p.text().$type<MessageChannel>(),
    messageClass: p.text().$type<MessageClass>(),
    body: p.text(),
    variables: p.json(),
    senderId: p.text().nullable(),
    dltEntityId: p.text().nullable(),
    dltTemplateId: p.text().nullable(),
    fallback: p.json(),
    validForS: p.integer().nullable(),
    createdAt: p.datetime(),
    retiredAt: p.datetime().nullable(),
  },
});

/** One process that may hold an open request. */
export const Worker = defineEntity({
  name: 'Worker',
  tableName: 'worker',
  properties: {
    id: p.bigint('string').primary(),
    instance: p.text(),
    bootId: p.uuid(),
    app: p.text(),
    startedAt: p.datetime(),
    lastSeenAt: p.datetime(),
    endedAt: p.datetime().nullable(),
    holdsFrom: p.datetime().nullable(),
    holdsSaidAt: p.datetime().nullable(),
    limiter: p.text().$type<'redis' | 'own'>().nullable(),
  },
});

/** Which dataset this is: compared inside every mark. */
export const DatasetEpoch = defineEntity({
  name: 'DatasetEpoch',
  tableName: 'dataset_epoch',
  properties: {
    onlyRow: p.boolean().primary(),
    environment: p.text(),
    systemIdentifier: p.text(),
    timeline: p.text(),
    epochNo: p.integer(),
    status: p.text().$type<'ok' | 'checking' | 'hold'>(),
    statusReason: p.text().nullable(),
    heldToMessageId: p.bigint('string').nullable(),
    heartbeatAt: p.datetime(),
  },
});

/** The durable fact that something is cancelled. */
export const Cancellation = defineEntity({
  name: 'Cancellation',
  tableName: 'cancellation',
  properties: {
    id: p.bigint('string').primary(),
    tenantId: p.text(),
    kind: p.text().$type<'message' | 'key' | 'event' | 'campaign' | 'tenant'>(),
    messageId: p.bigint('string').nullable(),
    businessKey: p.text().nullable(),
    eventType: p.text().nullable(),
    eventId: p.text().nullable(),
    campaignId: p.text().nullable(),
    messageClass: p.text().$type<MessageClass>().nullable(),
    coversUntil: p.datetime().nullable(),
    requestedBy: p.text(),
    reason: p.text(),
    createdAt: p.datetime(),
  },
});

/** Something only a person may decide. */
export const ReviewItem = defineEntity({
  name: 'ReviewItem',
  tableName: 'review_item',
  properties: {
    id: p.bigint('string').primary(),
    kind: p.text(),
    subject: p.text(),
    routeId: p.bigint('string').nullable(),
    messageId: p.bigint('string').nullable(),
    messageCreatedAt: p.datetime(3).nullable(),
    submissionId: p.bigint('string').nullable(),
    submissionCreatedAt: p.datetime(3).nullable(),
    evidence: p.json(),
    openedAt: p.datetime(),
    resolvedAt: p.datetime().nullable(),
    resolvedBy: p.text().nullable(),
    resolution: p.text().nullable(),
    note: p.text().nullable(),
  },
});

/** A refund or correction of what a message cost. The charge itself never moves. */
export const ChargeAdjustment = defineEntity({
  name: 'ChargeAdjustment',
  tableName: 'charge_adjustment',
  properties: {
    id: p.bigint('string').primary(),
    messageId: p.bigint('string'),
    messageCreatedAt: p.datetime(3),
    amount: p.decimal('string'),
    currency: p.text(),
    kind: p.text().$type<'refund' | 'correction'>(),
    evidence: p.text(),
    createdBy: p.text(),
    createdAt: p.datetime(),
  },
});

/** What a person changed, and why. */
export const AuditLog = defineEntity({
  name: 'AuditLog',
  tableName: 'audit_log',
  properties: {
    id: p.bigint('string').primary(),
    at: p.datetime(),
    who: p.text(),
    action: p.text(),
    subject: p.text(),
    messageId: p.bigint('string').nullable(),
    messageCreatedAt: p.datetime(3).nullable(),
    why: p.text(),
    details: p.json(),
  },
});

/** When an audit last ran over the fleet, and how much it found. */
export const Audit = defineEntity({
  name: 'Audit',
  tableName: 'audit',
  properties: {
    name: p.text().primary(),
    lastRunAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
    findings: p.integer(),
  },
});

/** A message that was closed as absent and is looked for a few more times. */
export const AbsenceWatch = defineEntity({
  name: 'AbsenceWatch',
  tableName: 'absence_watch',
  properties: {
    messageId: p.bigint('string').primary(),
    messageCreatedAt: p.datetime(3),
    looks: p.integer(),
    nextLookAt: p.datetime(),
    until: p.datetime(),
  },
});

/** What one process of the fleet counted in the whole ledger, and until when it is the one that counts. */
export const Census = defineEntity({
  name: 'Census',
  tableName: 'census',
  properties: {
    onlyRow: p.boolean().primary(),
    holder: p.bigint('string').nullable(),
    heldUntil: p.datetime().nullable(),
    countedAt: p.datetime().nullable(),
    tookMs: p.integer().nullable(),
    figures: p.json().nullable(),
  },
});
