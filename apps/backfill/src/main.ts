import { runApp } from '@sendledger/worker';
import { adapterOf, readBackfillSettings, startBackfillApp } from './backfill-app.ts';

await runApp('backfill', readBackfillSettings, (context) => {
  const settings = readBackfillSettings();
  return startBackfillApp(context, settings, adapterOf(settings));
});
