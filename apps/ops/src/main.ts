import { readSettings, runApp } from '@sendledger/worker';
import { listenAddress } from './access/loopback.ts';
import { startOps } from './ops.ts';
import { checkOpsSettings, OPS_SETTINGS, PAGE_STATEMENT_MS } from './settings.ts';

const read = () => readSettings(OPS_SETTINGS, process.env, checkOpsSettings);

await runApp(
  'ops',
  read,
  async (context, health) => {
    const settings = read();
    const { SENDLEDGER_OPS_USER: user, SENDLEDGER_OPS_PASSWORD: password } = settings;
    return startOps(context, health, {
      host: listenAddress(settings.SENDLEDGER_OPS_HOST),
      port: settings.SENDLEDGER_OPS_PORT,
      hostNames: settings.SENDLEDGER_OPS_HOSTS,
      credentials: user === undefined || password === undefined ? null : { user, password },
      redisUrl: settings.REDIS_URL ?? null,
      census: {
        spanHours: settings.SENDLEDGER_CENSUS_HOURS,
        intervalMs: settings.SENDLEDGER_CENSUS_INTERVAL_MS,
      },
    });
  },
  { servesHealth: true, statementTimeoutMs: PAGE_STATEMENT_MS },
);
