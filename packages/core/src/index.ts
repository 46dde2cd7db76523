export { type CsvFault, type CsvRecord, csvRecords } from './csv/csv-records.ts';
export { type NumberedLine, numberedLines } from './csv/numbered-lines.ts';
export {
  type AbsenceDoubt,
  type AbsenceFacts,
  CLOCK_PAIRS_NEEDED,
  CLOCK_TOLERANCE_MS,
  doubtsAboutAbsence,
  windowOf,
} from './domain/absence.ts';
export { backfillDays, type DayClock, dayIn, MOST_BACKFILL_DAYS } from './domain/backfill-days.ts';
export {
  type BreakerEvent,
  type BreakerFacts,
  type BreakerSign,
  type BreakerVerdict,
  foldBreaker,
} from './domain/breaker.ts';
export { type BusinessKeyParts, businessKey } from './domain/business-key.ts';
export { type Correlation, correlate, type LooseRecord, type RequestedRow } from './domain/correlate.ts';
export { ERRORS, type ErrorCode, SendledgerError } from './domain/errors.ts';
export { type FallbackStep, type Message, messageSchema, type PreparedMessage } from './domain/message.ts';
export { MESSAGE_FAULTS, type MessageFault, type MessageProblem } from './domain/message-problem.ts';
export { nameFault } from './domain/message-text.ts';
export { type PrepareContext, type Prepared, prepareMessage } from './domain/prepare-message.ts';
export { judgeReceipt, type ReceiptStatus, type ReceiptVerdict } from './domain/receipt.ts';
export {
  normaliseRecipient,
  type Recipient,
  type RecipientFault,
  type RecipientKind,
  type RecipientOptions,
} from './domain/recipient.ts';
export {
  asksProvider,
  judgeScheduleChange,
  type ScheduleEntry,
  type ScheduleFacts,
  type ScheduleVerdict,
} from './domain/schedule-change.ts';
export { countSegments, type Encoding, type EncodingRule, type SegmentCount } from './domain/segments.ts';
export {
  FINAL_STATES,
  INSERTED_ONLY,
  isFinal,
  MESSAGE_CHANNELS,
  MESSAGE_CLASSES,
  MESSAGE_STATES,
  type MessageChannel,
  type MessageClass,
  type MessageState,
  SUBMISSION_STATES,
  type SubmissionState,
  TRANSITIONS,
  type Transition,
  transition,
} from './domain/state.ts';
export {
  type MessageTemplate,
  messageTemplate,
  type RenderedTemplate,
  renderTemplate,
  type TemplateFault,
  type TemplateProblem,
  type TemplateVariable,
  templateVariables,
} from './domain/template.ts';
export { MAX_FALLBACK_STEPS, templateFallback } from './domain/template-fallback.ts';
export {
  BACKFILL_LANE,
  laneName,
  roomIn,
  saysRoom,
  WAKE_PREFIX,
  WAKE_QUEUES,
  type WakeJob,
  type WakeQueue,
  wakeJobOptions,
} from './domain/wakeup.ts';
