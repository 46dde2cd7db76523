export type { Cancel, RecordedCancellation } from './cancel.ts';
export type { OnProblem } from './enqueue.ts';
export type { EnqueueResult } from './enqueue-result.ts';
export type { Find, FoundMessage } from './find.ts';
export { LINE_FAULTS, type LineFault, type LineProblem, lineProblem } from './line-problem.ts';
export { FILE_FIELDS, type FileField, fileField } from './message-fields.ts';
export {
  MESSAGE_FORMATS,
  type MessageDefaults,
  type MessageFormat,
  type MessageLine,
  readMessages,
} from './message-file.ts';
export { MessageRefused, type Refusal, type RefusalReason } from './message-refused.ts';
export {
  createProducer,
  type EnqueueOptions,
  type EnqueueReply,
  type Producer,
  type ProducerOptions,
  type ReplayReply,
} from './producer.ts';
export type { Replay, ReplayResult } from './replay.ts';
export type { Reschedule, Rescheduled } from './reschedule.ts';
export type { SqlExecutor, Transaction } from './sql-executor.ts';
export type { ClientPool, TransactionClient } from './transaction.ts';
export { createWaker, type Waker } from './waker.ts';
export type { ByCampaign, ByEvent, ByKey, ByMessage, ByTenant, Which } from './which.ts';
