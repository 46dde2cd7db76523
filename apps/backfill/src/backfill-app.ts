import {
  type Adapter,
  createSmsGatewayCenter,
  DEFAULT_SEND_BUDGET_MS,
  SMSGATEWAYCENTER,
  timeoutsWithin,
} from '@sendledger/gateway';
import { type AppContext, Loop, ReceiptKeeper, type RunningApp, readSettings } from '@sendledger/worker';
import { BackfillDays } from './backfill-days.ts';
import { BACKFILL_SETTINGS, checkBackfillSettings } from './settings.ts';

export const readBackfillSettings = () => readSettings(BACKFILL_SETTINGS, process.env, checkBackfillSettings);

type BackfillSettings = ReturnType<typeof readBackfillSettings>;

/** The adapter of the account that the settings name. */
export function adapterOf(settings: BackfillSettings): Adapter {
  return createSmsGatewayCenter({
    baseUrl: settings.SMSGATEWAYCENTER_BASE_URL,
    userid: settings.SMSGATEWAYCENTER_USERID,
    password: settings.SMSGATEWAYCENTER_PASSWORD,
    apiKey: settings.SMSGATEWAYCENTER_APIKEY,
    extraCodes: settings.SMSGATEWAYCENTER_CODES,
    extraStatusWords: settings.SMSGATEWAYCENTER_STATUS_WORDS,
    timeouts: timeoutsWithin(settings.SENDLEDGER_BACKFILL_DEADLINE_MS, DEFAULT_SEND_BUDGET_MS),
    dayReport: {
      maxBytes: settings.SENDLEDGER_DAY_REPORT_MAX_BYTES,
      maxUnpackedBytes: settings.SENDLEDGER_DAY_REPORT_MAX_UNPACKED_BYTES,
      maxRatio: settings.SENDLEDGER_DAY_REPORT_MAX_RATIO,
      maxFiles: settings.SENDLEDGER_DAY_REPORT_MAX_FILES,
      maxRowCharacters: settings.SENDLEDGER_DAY_REPORT_MAX_ROW_CHARACTERS,
    },
  });
}

/** Starts the loop that takes the days of backfills. */
export function startBackfillApp(context: AppContext, settings: BackfillSettings, adapter: Adapter): RunningApp {
  const days = new BackfillDays(
    context,
    new Map([[`${SMSGATEWAYCENTER}/${settings.SMSGATEWAYCENTER_ACCOUNT}`, adapter]]),
    {
      leaseMs: settings.SENDLEDGER_BACKFILL_LEASE_MS,
      badRowsKept: settings.SENDLEDGER_BACKFILL_BAD_ROWS_KEPT,
      pauseMs: settings.SENDLEDGER_BACKFILL_PAUSE_MS,
      longestPauseMs: settings.SENDLEDGER_BACKFILL_LONGEST_PAUSE_MS,
    },
    new ReceiptKeeper(context),
    () => loop.touch(),
  );
  const loop: Loop = new Loop('days', settings.SENDLEDGER_POLL_INTERVAL_MS, context.log, days.round);
  context.wakeUps.listen('backfill', () => loop.nudge());
  return {
    loops: [loop],
    stopping: () => days.stop(),
    rest: async () => adapter.close(),
  };
}
