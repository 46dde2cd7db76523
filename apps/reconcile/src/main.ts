import { createSmsGatewayCenter, SMSGATEWAYCENTER } from '@sendledger/gateway';
import { Loop, readSettings, runApp } from '@sendledger/worker';
import { reportRound } from './read-reports.ts';
import { checkReconcileSettings, RECONCILE_SETTINGS } from './settings.ts';
import { sweepRound } from './sweep.ts';
import { upkeepRound } from './upkeep.ts';

const read = () => readSettings(RECONCILE_SETTINGS, process.env, checkReconcileSettings);

await runApp('reconcile', read, (context) => {
  const settings = read();
  const adapter = createSmsGatewayCenter({
    baseUrl: settings.SMSGATEWAYCENTER_BASE_URL,
    userid: settings.SMSGATEWAYCENTER_USERID,
    password: settings.SMSGATEWAYCENTER_PASSWORD,
    apiKey: settings.SMSGATEWAYCENTER_APIKEY,
    reportPath: settings.SMSGATEWAYCENTER_REPORT_PATH,
  });
  const { log } = context;
  const sweep = new Loop(
    'sweep',
    settings.SENDLEDGER_SWEEP_INTERVAL_MS,
    log,
    sweepRound(context, settings.SENDLEDGER_SWEEP_BATCH),
  );
  const reports = new Loop(
    'reports',
    settings.SENDLEDGER_POLL_INTERVAL_MS,
    log,
    reportRound(
      context,
      (poll) =>
        poll.provider === SMSGATEWAYCENTER && poll.account === settings.SMSGATEWAYCENTER_ACCOUNT ? adapter : undefined,
      {
        concurrency: settings.SENDLEDGER_REPORT_CONCURRENCY,
        pauseMs: settings.SENDLEDGER_REPORT_PAUSE_MS,
        longestPauseMs: settings.SENDLEDGER_REPORT_LONGEST_PAUSE_MS,
      },
    ),
  );
  const upkeep = new Loop(
    'upkeep',
    settings.SENDLEDGER_UPKEEP_INTERVAL_MS,
    log,
    upkeepRound(context, settings.SENDLEDGER_MONTHS_AHEAD),
  );
  context.wakeUps.listen('reconcile', () => reports.nudge());
  return { loops: [sweep, reports, upkeep], rest: async () => adapter.close() };
});
