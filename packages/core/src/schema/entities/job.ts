import { defineEntity, p } from '@mikro-orm/core';

/** Long work that is done in parts. */
export const JobRun = defineEntity({
  name: 'JobRun',
  tableName: 'job_run',
  properties: {
    id: p.bigint('string').primary(),
    kind: p.text().$type<'backfill' | 'import' | 'recover'>(),
    fromDay: p.date().nullable(),
    toDay: p.date().nullable(),
    startedBy: p.text(),
    startedAt: p.datetime(),
    cancelledAt: p.datetime().nullable(),
    cancelledBy: p.text().nullable(),
  },
});

/** How far one part of a run got; of a backfill, one day of one account. */
export const JobCheckpoint = defineEntity({
  name: 'JobCheckpoint',
  tableName: 'job_checkpoint',
  properties: {
    id: p.bigint('string').primary(),
    runId: p.bigint('string'),
    provider: p.text(),
    account: p.text(),
    routeId: p.bigint('string'),
    day: p.date(),
    state: p.text().$type<'waiting' | 'stored' | 'applied' | 'cancelled'>(),
    tries: p.integer(),
    nextAt: p.datetime(),
    askedAt: p.datetime().nullable(),
    leaseToken: p.uuid().nullable(),
    leaseUntil: p.datetime().nullable(),
    workerId: p.bigint('string').nullable(),
    errorKind: p.text().nullable(),
    error: p.text().nullable(),
    rowsRead: p.bigint('string').nullable(),
    badRows: p.bigint('string').nullable(),
    bytesRead: p.bigint('string').nullable(),
    unmappedColumns: p.array().nullable(),
    storedAt: p.datetime().nullable(),
    receipts: p.bigint('string').nullable(),
    fresh: p.bigint('string').nullable(),
    applied: p.bigint('string').nullable(),
    orphans: p.bigint('string').nullable(),
    finishedAt: p.datetime().nullable(),
  },
});

/** Which receipts a checkpoint brought. */
export const JobReceipt = defineEntity({
  name: 'JobReceipt',
  tableName: 'job_receipt',
  properties: {
    checkpointId: p.bigint('string').primary(),
    dedupeHash: p.blob().primary(),
    fresh: p.boolean(),
  },
});

/** A row of a report that is no record. */
export const JobBadRow = defineEntity({
  name: 'JobBadRow',
  tableName: 'job_bad_row',
  properties: {
    checkpointId: p.bigint('string').primary(),
    fileNo: p.integer().primary(),
    lineNo: p.bigint('string').primary(),
    reason: p.text(),
    evidence: p.json(),
  },
});
