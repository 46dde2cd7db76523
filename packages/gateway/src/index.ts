export type { AccountAnswer } from './account-answer.ts';
export type { Adapter, Capabilities, SubmitRequest } from './adapter.ts';
export { classifyFailure, type FailureVerdict } from './classify-failure.ts';
export {
  type BadRow,
  type BadRowReason,
  type DayAnswer,
  type DayQuestion,
  type DayReader,
  type DayReportLimits,
  type DayRows,
  DEFAULT_DAY_REPORT_LIMITS,
} from './day-report.ts';
export type { DaysAnswer, DaysQuestion } from './days-answer.ts';
export {
  createGotTransport,
  DEFAULT_TIMEOUTS,
  type GotTransportOptions,
  type TransportTimeouts,
  timeoutsWithin,
} from './got-transport.ts';
export { cleanEpoch } from './normalise/clean-epoch.ts';
export { cleanId } from './normalise/clean-id.ts';
export { cleanTime, DEFAULT_ZONE } from './normalise/clean-time.ts';
export {
  type Accepted,
  type Ambiguous,
  NOT_SENT_PROOFS,
  type NotSent,
  type NotSentProof,
  type Outcome,
  RAW_REPLY_LIMIT_BYTES,
  REFUSAL_SCOPES,
  type RefusalScope,
  type Refused,
  type Reply,
} from './outcome.ts';
export { SMSGATEWAYCENTER } from './providers.ts';
export { PUSH_RECORD_LIMIT, type PushAnswer, type PushRequest } from './push.ts';
export type {
  ProviderRecord,
  RecordStatus,
  ReportAnswer,
  ReportRecords,
  ReportUnavailable,
} from './report-answer.ts';
export type { ScheduleChangeAnswer } from './schedule-change.ts';
export type { HeldSchedule, ScheduleState, SchedulesAnswer } from './schedules-answer.ts';
export {
  type ClockReading,
  type Clocks,
  DEFAULT_SEND_BUDGET_MS,
  readClocks,
  type SendBudget,
  SYSTEM_CLOCKS,
  startSendBudget,
} from './send-budget.ts';
export { refusalScopeOf } from './smsgatewaycenter/codes.ts';
export type { SmsGatewayCenterOptions } from './smsgatewaycenter/options.ts';
export { scheduleText } from './smsgatewaycenter/schedule-text.ts';
export { type ExtraScheduleWords, scheduleStateOf } from './smsgatewaycenter/schedule-words.ts';
export { createSmsGatewayCenter } from './smsgatewaycenter/smsgatewaycenter.ts';
export type { ExtraStatusWords } from './smsgatewaycenter/vocabulary.ts';
export type {
  Downloaded,
  DownloadRequest,
  Phase,
  Transport,
  TransportFailure,
  TransportReply,
  TransportRequest,
} from './transport.ts';
