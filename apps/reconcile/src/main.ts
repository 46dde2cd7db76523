import { createSmsGatewayCenter, DEFAULT_SEND_BUDGET_MS, SMSGATEWAYCENTER, timeoutsWithin } from '@sendledger/gateway';
import { Loop, ReceiptKeeper, readSettings, runApp } from '@sendledger/worker';
import { accountRound } from './account-watch.ts';
import { auditsRound } from './audits.ts';
import { fallbackRound } from './fall-back.ts';
import { startPushEndpoint } from './push-endpoint.ts';
import { ReportReader } from './read-reports.ts';
import { UnknownResolver } from './resolve-unknown.ts';
import { ScheduleChanges } from './schedule-changes.ts';
import { checkReconcileSettings, RECONCILE_SETTINGS } from './settings.ts';
import { sweepRound } from './sweep.ts';
import { upkeepRound } from './upkeep.ts';
import { WaitingReceipts } from './waiting-receipts.ts';

const READ_DEADLINE_MS = 20_000;

const read = () => readSettings(RECONCILE_SETTINGS, process.env, checkReconcileSettings);

await runApp('reconcile', read, async (context) => {
  const settings = read();
  const adapter = createSmsGatewayCenter({
    baseUrl: settings.SMSGATEWAYCENTER_BASE_URL,
    userid: settings.SMSGATEWAYCENTER_USERID,
    password: settings.SMSGATEWAYCENTER_PASSWORD,
    apiKey: settings.SMSGATEWAYCENTER_APIKEY,
    reportPath: settings.SMSGATEWAYCENTER_REPORT_PATH,
    extraCodes: settings.SMSGATEWAYCENTER_CODES,
    extraStatusWords: settings.SMSGATEWAYCENTER_STATUS_WORDS,
    extraScheduleWords: settings.SMSGATEWAYCENTER_SCHEDULE_WORDS,
    // A read is free and is made again; it must not hold up the round as long as a send may.
    timeouts: timeoutsWithin(READ_DEADLINE_MS, DEFAULT_SEND_BUDGET_MS),
  });
  const { log } = context;
  const sweep = new Loop(
    'sweep',
    settings.SENDLEDGER_SWEEP_INTERVAL_MS,
    log,
    sweepRound(context, settings.SENDLEDGER_SWEEP_BATCH),
  );
  const adapters = new Map([[`${SMSGATEWAYCENTER}/${settings.SMSGATEWAYCENTER_ACCOUNT}`, adapter]]);
  const keeper = new ReceiptKeeper(context);
  const resolver = new UnknownResolver(
    context,
    adapters,
    {
      filteredReads: settings.SENDLEDGER_FILTERED_READS,
      pauseMs: settings.SENDLEDGER_REPORT_PAUSE_MS,
      longestPauseMs: settings.SENDLEDGER_REPORT_LONGEST_PAUSE_MS,
    },
    keeper,
    () => resolving.touch(),
  );
  const reader = new ReportReader(
    context,
    adapters,
    {
      concurrency: settings.SENDLEDGER_REPORT_CONCURRENCY,
      pauseMs: settings.SENDLEDGER_REPORT_PAUSE_MS,
      longestPauseMs: settings.SENDLEDGER_REPORT_LONGEST_PAUSE_MS,
    },
    keeper,
    resolver,
  );
  const resolving: Loop = new Loop('resolver', settings.SENDLEDGER_POLL_INTERVAL_MS, log, resolver.round);
  const reports = new Loop('reports', settings.SENDLEDGER_POLL_INTERVAL_MS, log, reader.round);
  const upkeep = new Loop(
    'upkeep',
    settings.SENDLEDGER_UPKEEP_INTERVAL_MS,
    log,
    upkeepRound(context, settings.SENDLEDGER_MONTHS_AHEAD),
  );
  const audits = new Loop(
    'audits',
    // Often enough that a run is late by a tenth of its interval at most.
    Math.max(100, settings.SENDLEDGER_AUDIT_INTERVAL_MS / 10),
    log,
    auditsRound(context, adapters, {
      intervalMs: settings.SENDLEDGER_AUDIT_INTERVAL_MS,
      items: settings.SENDLEDGER_AUDIT_ITEMS,
      eventsFunction: settings.SENDLEDGER_EVENTS_FUNCTION,
    }),
  );
  const waiting = new Loop(
    'waiting receipts',
    settings.SENDLEDGER_SWEEP_INTERVAL_MS,
    log,
    new WaitingReceipts(context, adapters, keeper).round,
  );
  const account = new Loop('account', settings.SENDLEDGER_ACCOUNT_INTERVAL_MS, log, accountRound(context, adapters));
  const fallbacks = new Loop(
    'fallbacks',
    settings.SENDLEDGER_SWEEP_INTERVAL_MS,
    log,
    fallbackRound(context, settings.SENDLEDGER_SWEEP_BATCH),
  );
  const changes = new ScheduleChanges(context, adapters, {
    pauseMs: settings.SENDLEDGER_SCHEDULE_PAUSE_MS,
    firstReportMs: settings.SENDLEDGER_REPORT_PAUSE_MS,
  });
  const schedules = new Loop('schedules', settings.SENDLEDGER_SWEEP_INTERVAL_MS, log, changes.round);
  const push = await startPushEndpoint(context, settings, adapters, keeper);
  return {
    loops: [sweep, reports, resolving, upkeep, audits, waiting, account, fallbacks, schedules, ...push.loops],
    stopping: () => resolver.stop(),
    rest: async () => {
      await push.rest();
      adapter.close();
    },
  };
});
