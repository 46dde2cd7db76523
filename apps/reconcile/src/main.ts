import { createSmsGatewayCenter, DEFAULT_SEND_BUDGET_MS, SMSGATEWAYCENTER, timeoutsWithin } from '@sendledger/gateway';
import { Loop, readSettings, runApp } from '@sendledger/worker';
import { ReceiptKeeper } from './keep-receipts.ts';
import { ReportReader } from './read-reports.ts';
import { UnknownResolver } from './resolve-unknown.ts';
import { checkReconcileSettings, RECONCILE_SETTINGS } from './settings.ts';
import { sweepRound } from './sweep.ts';
import { upkeepRound } from './upkeep.ts';

const READ_DEADLINE_MS = 20_000;

const read = () => readSettings(RECONCILE_SETTINGS, process.env, checkReconcileSettings);

await runApp('reconcile', read, (context) => {
  const settings = read();
  const adapter = createSmsGatewayCenter({
    baseUrl: settings.SMSGATEWAYCENTER_BASE_URL,
    userid: settings.SMSGATEWAYCENTER_USERID,
    password: settings.SMSGATEWAYCENTER_PASSWORD,
    apiKey: settings.SMSGATEWAYCENTER_APIKEY,
    reportPath: settings.SMSGATEWAYCENTER_REPORT_PATH,
    extraCodes: settings.SMSGATEWAYCENTER_CODES,
    extraStatusWords: settings.SMSGATEWAYCENTER_STATUS_WORDS,
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
    { filteredReads: settings.SENDLEDGER_FILTERED_READS },
    keeper,
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
  const reports = new Loop('reports', settings.SENDLEDGER_POLL_INTERVAL_MS, log, reader.round);
  const upkeep = new Loop(
    'upkeep',
    settings.SENDLEDGER_UPKEEP_INTERVAL_MS,
    log,
    upkeepRound(context, settings.SENDLEDGER_MONTHS_AHEAD),
  );
  return { loops: [sweep, reports, upkeep], rest: async () => adapter.close() };
});
