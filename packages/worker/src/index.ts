export { type AppContext, type AppOptions, type RunningApp, runApp } from './app.ts';
export { Batcher } from './batcher.ts';
export { type ClassLoops, classLoops } from './class-loops.ts';
export {
  needCredential,
  type Problem,
  readSettings,
  SMSGATEWAYCENTER_SETTINGS,
  WORKER_SETTINGS,
  type WorkerSettings,
  whole,
} from './config.ts';
export type { HealthChecks } from './health.ts';
export { createLog, type Log, maskRecipient } from './log.ts';
export { Loop, type Round } from './loop.ts';
export { Counter, Gauge, Histogram, Registry } from './metrics.ts';
export { type Grant, type LimiterFleet, type LimiterMode, RouteLimiter } from './rate/route-limiter.ts';
export { applyApart } from './receipts/apply-apart.ts';
export { isRefusalOfData, lostToAnother } from './receipts/database-says.ts';
export { ANSWERED_BY_EVIDENCE, type KeptReceipts, ReceiptKeeper } from './receipts/keep-receipts.ts';
export { movedLine } from './receipts/moved-line.ts';
export { toReceipt } from './receipts/to-receipt.ts';
export { createWakeUps, type WakeUps } from './wakeups.ts';
