import { needCredential, type Problem, SMSGATEWAYCENTER_SETTINGS, WORKER_SETTINGS, whole } from '@sendledger/worker';

/** Settings of the backfill app. */
export const BACKFILL_SETTINGS = {
  ...WORKER_SETTINGS,
  ...SMSGATEWAYCENTER_SETTINGS,
  /** How long the answer of one day may take, its archive included. */
  SENDLEDGER_BACKFILL_DEADLINE_MS: whole(100, 3_600_000, 300_000),
  /**
   * How long a day belongs to the worker that took it without a sign that it moves. Longer than the deadline: behind it the archive is
   * checked, which of the largest one takes a minute or two.
   */
  SENDLEDGER_BACKFILL_LEASE_MS: whole(200, 86_400_000, 600_000),
  /** Pause after a day that could not be read; it doubles with each try, up to the longest. */
  SENDLEDGER_BACKFILL_PAUSE_MS: whole(20, 3_600_000, 60_000),
  SENDLEDGER_BACKFILL_LONGEST_PAUSE_MS: whole(20, 86_400_000, 3_600_000),
  /** Bad rows kept of each day; all are counted. */
  SENDLEDGER_BACKFILL_BAD_ROWS_KEPT: whole(0, 1_000_000, 1_000),
  /** What a day's report may be at most. Bytes of the answer. */
  SENDLEDGER_DAY_REPORT_MAX_BYTES: whole(1, 4_294_967_296, 268_435_456),
  /** Bytes that it unpacks to. */
  SENDLEDGER_DAY_REPORT_MAX_UNPACKED_BYTES: whole(1, 1_099_511_627_776, 4_294_967_296),
  /** Unpacked bytes for each byte of the answer. */
  SENDLEDGER_DAY_REPORT_MAX_RATIO: whole(1, 2_000, 200),
  /** Files in the archive. */
  SENDLEDGER_DAY_REPORT_MAX_FILES: whole(1, 10_000, 16),
  /** Characters of one row. */
  SENDLEDGER_DAY_REPORT_MAX_ROW_CHARACTERS: whole(100, 16_777_216, 65_536),
};

export function checkBackfillSettings(
  settings: {
    SENDLEDGER_BACKFILL_DEADLINE_MS: number;
    SENDLEDGER_BACKFILL_LEASE_MS: number;
    SENDLEDGER_BACKFILL_PAUSE_MS: number;
    SENDLEDGER_BACKFILL_LONGEST_PAUSE_MS: number;
    SMSGATEWAYCENTER_PASSWORD?: string | undefined;
    SMSGATEWAYCENTER_APIKEY?: string | undefined;
  },
  problem: Problem,
): void {
  needCredential(settings, problem);
  // Of two answers each may take so long: one may be a link to the other.
  if (settings.SENDLEDGER_BACKFILL_LEASE_MS <= 2 * settings.SENDLEDGER_BACKFILL_DEADLINE_MS - 1)
    problem('SENDLEDGER_BACKFILL_LEASE_MS', 'must be at least twice SENDLEDGER_BACKFILL_DEADLINE_MS');
  if (settings.SENDLEDGER_BACKFILL_LONGEST_PAUSE_MS < settings.SENDLEDGER_BACKFILL_PAUSE_MS)
    problem('SENDLEDGER_BACKFILL_LONGEST_PAUSE_MS', 'must not be shorter than SENDLEDGER_BACKFILL_PAUSE_MS');
}
