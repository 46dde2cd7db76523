// The backfill app over a provider that gives each report once (FC-32): what the adapter says of itself is all that differs.
import { runApp } from '@sendledger/worker';
import { adapterOf, readBackfillSettings, startBackfillApp } from '../../../apps/backfill/src/backfill-app.ts';

await runApp('backfill', readBackfillSettings, (context) => {
  const settings = readBackfillSettings();
  const adapter = adapterOf(settings);
  const { capabilities } = adapter;
  return startBackfillApp(context, settings, {
    ...adapter,
    capabilities: { ...capabilities, lookup: { ...capabilities.lookup, destructive: true } },
  });
});
