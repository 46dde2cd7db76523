export * from './accepted-without-id.ts';
export * from './audit-run.ts';
export * from './event-counts.ts';
export * from './live-duplicates.ts';
export * from './no-final-state.ts';
export type { AuditResult } from './open-findings.ts';
export * from './past-lease.ts';
export * from './schedules.ts';
