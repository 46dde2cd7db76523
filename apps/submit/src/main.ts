import { durably, reportLimiter } from '@sendledger/core/ledger';
import { createSmsGatewayCenter, SMSGATEWAYCENTER, timeoutsWithin } from '@sendledger/gateway';
import { classLoops, RouteLimiter, readSettings, runApp } from '@sendledger/worker';
import { checkSubmitSettings, SUBMIT_SETTINGS } from './settings.ts';
import { Submitter } from './submit-lanes.ts';

const read = () => readSettings(SUBMIT_SETTINGS, process.env, checkSubmitSettings);

await runApp('submit', read, (context) => {
  const settings = read();
  const adapter = createSmsGatewayCenter({
    baseUrl: settings.SMSGATEWAYCENTER_BASE_URL,
    userid: settings.SMSGATEWAYCENTER_USERID,
    password: settings.SMSGATEWAYCENTER_PASSWORD,
    apiKey: settings.SMSGATEWAYCENTER_APIKEY,
    // The most the vendor recommends; how many really go is the route's max_batch.
    maxRecipients: 1_000,
    reportPath: settings.SMSGATEWAYCENTER_REPORT_PATH,
    extraCodes: settings.SMSGATEWAYCENTER_CODES,
    extraStatusWords: settings.SMSGATEWAYCENTER_STATUS_WORDS,
    keepAlive: settings.SMSGATEWAYCENTER_KEEP_ALIVE === 'on',
    sendBudgetMs: settings.SENDLEDGER_SEND_BUDGET_MS,
    timeouts: timeoutsWithin(settings.SENDLEDGER_REQUEST_DEADLINE_MS, settings.SENDLEDGER_SEND_BUDGET_MS),
  });
  const limiter = new RouteLimiter(
    settings.REDIS_URL,
    { report: (mode) => durably(context.pool, (sql) => reportLimiter(sql, context.worker.id, mode)) },
    context.log,
  );
  limiter.start();
  const submitter = new Submitter(
    context,
    (lane) =>
      lane.provider === SMSGATEWAYCENTER && lane.account === settings.SMSGATEWAYCENTER_ACCOUNT ? adapter : undefined,
    {
      concurrency: settings.SENDLEDGER_SUBMIT_CONCURRENCY,
      leaseMs: settings.SENDLEDGER_REQUEST_LEASE_MS,
      sendBudgetMs: settings.SENDLEDGER_SEND_BUDGET_MS,
      environment: settings.SENDLEDGER_ENVIRONMENT,
      firstReportMs: settings.SENDLEDGER_FIRST_REPORT_MS,
      retry: {
        baseMs: settings.SENDLEDGER_RETRY_BASE_MS,
        longestMs: settings.SENDLEDGER_RETRY_LONGEST_MS,
        tries: settings.SENDLEDGER_RETRY_TRIES,
      },
      dice: Math.random,
    },
    limiter,
  );
  const loops = classLoops('submit', settings.SENDLEDGER_POLL_INTERVAL_MS, context.log, (c) => submitter.round(c));
  submitter.onFree = (messageClass) => loops.nudge(`.${messageClass}`);
  submitter.onTokens = (lane) => loops.nudge(lane);
  context.wakeUps.listen('submit', (lane) => loops.nudge(lane));
  return {
    loops: loops.all,
    holds: () => submitter.oldestHeldMs(),
    rest: async () => {
      await submitter.drain();
      await limiter.close();
      adapter.close();
    },
  };
});
