import {
  AbsenceWatch,
  Audit,
  AuditLog,
  Cancellation,
  Census,
  ChargeAdjustment,
  DatasetEpoch,
  Lane,
  MessageTemplate,
  RateCard,
  ReviewItem,
  Route,
  Tenant,
  TenantRoute,
  Worker,
} from './entities/house.ts';
import { JobBadRow, JobCheckpoint, JobReceipt, JobRun } from './entities/job.ts';
import {
  DeliveryReceipt,
  Fallback,
  MessageKey,
  OutboundMessage,
  ProviderMessage,
  ScheduleChange,
  Submission,
} from './entities/message.ts';

export const ENTITIES = [
  OutboundMessage,
  MessageKey,
  Submission,
  ProviderMessage,
  DeliveryReceipt,
  Route,
  Lane,
  Tenant,
  TenantRoute,
  RateCard,
  MessageTemplate,
  Worker,
  DatasetEpoch,
  Cancellation,
  Census,
  ReviewItem,
  ChargeAdjustment,
  AuditLog,
  Audit,
  AbsenceWatch,
  Fallback,
  ScheduleChange,
  JobRun,
  JobCheckpoint,
  JobReceipt,
  JobBadRow,
] as const;

export * from './entities/house.ts';
export * from './entities/job.ts';
export * from './entities/message.ts';
