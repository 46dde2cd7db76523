import { needCredential, type Problem, SMSGATEWAYCENTER_SETTINGS, WORKER_SETTINGS, whole } from '@sendledger/worker';
import { checkPushSettings, PUSH_SETTINGS } from './push-settings.ts';

/** Settings of the reconcile app. */
export const RECONCILE_SETTINGS = {
  ...WORKER_SETTINGS,
  ...SMSGATEWAYCENTER_SETTINGS,
  ...PUSH_SETTINGS,
  /** Rows or submissions moved by one sweep. */
  SENDLEDGER_SWEEP_BATCH: whole(1, 10_000, 500),
  /** Pause between two looks for leases and deadlines that passed. */
  SENDLEDGER_SWEEP_INTERVAL_MS: whole(20, 600_000, 2_000),
  /** Pause after the first look at a report; it doubles with each look, up to the longest. */
  SENDLEDGER_REPORT_PAUSE_MS: whole(50, 3_600_000, 30_000),
  SENDLEDGER_REPORT_LONGEST_PAUSE_MS: whole(50, 86_400_000, 3_600_000),
  /** Reports read at once; the provider publishes no limit, so this is small. */
  SENDLEDGER_REPORT_CONCURRENCY: whole(1, 64, 4),
  /** Pause before a provider is asked again to drop or move what it holds; it doubles with each. */
  SENDLEDGER_SCHEDULE_PAUSE_MS: whole(20, 600_000, 5_000),
  /** Recipients whose records are asked for one by one; for more, everybody's records of these days are read. */
  SENDLEDGER_FILTERED_READS: whole(0, 1_000, 20),
  /** Months of partitions made ahead. */
  SENDLEDGER_MONTHS_AHEAD: whole(1, 36, 3),
  /** Pause between two upkeeps: partitions, and schedules whose zone has other rules by now. */
  SENDLEDGER_UPKEEP_INTERVAL_MS: whole(100, 3_600_000, 15_000),
  /** Between two runs of one audit, over the whole fleet. */
  SENDLEDGER_AUDIT_INTERVAL_MS: whole(100, 86_400_000, 300_000),
  /** Review items that one run of an audit opens; what is beyond is counted, and asked by the next run. */
  SENDLEDGER_AUDIT_ITEMS: whole(1, 10_000, 100),
  /** `schema.function` of the application that counts its events; without it events are not compared with messages. */
  SENDLEDGER_EVENTS_FUNCTION: WORKER_SETTINGS.SENDLEDGER_ENVIRONMENT.unwrap()
    .regex(
      /^[a-z_][a-z0-9_]{0,62}\.[a-z_][a-z0-9_]{0,62}$/,
      'must be schema.function, in lower case letters, digits and _',
    )
    .optional(),
};

export function checkReconcileSettings(
  settings: {
    SENDLEDGER_REPORT_PAUSE_MS: number;
    SENDLEDGER_REPORT_LONGEST_PAUSE_MS: number;
    SMSGATEWAYCENTER_PASSWORD?: string | undefined;
    SMSGATEWAYCENTER_APIKEY?: string | undefined;
    SENDLEDGER_PUSH_PORT?: number | undefined;
    SENDLEDGER_PUSH_SECRET?: string | undefined;
  },
  problem: Problem,
): void {
  needCredential(settings, problem);
  checkPushSettings(settings, problem);
  if (settings.SENDLEDGER_REPORT_LONGEST_PAUSE_MS < settings.SENDLEDGER_REPORT_PAUSE_MS)
    problem('SENDLEDGER_REPORT_LONGEST_PAUSE_MS', 'must not be shorter than SENDLEDGER_REPORT_PAUSE_MS');
}
