import { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { benchEnqueue } from './enqueue.ts';
import { benchLife } from './life.ts';
import { type BenchOptions, readOptions, USAGE, UsageError } from './options.ts';
import { benchOtpUnderBacklog } from './otp-under-backlog.ts';
import { benchRate } from './rate.ts';
import { benchRedisDown } from './redis-down.ts';
import { type BenchResult, missed, present, say } from './report.ts';

const BENCH: Record<BenchOptions['bench'], (options: BenchOptions, cleanup: Cleanup) => Promise<BenchResult>> = {
  'otp-under-backlog': benchOtpUnderBacklog,
  rate: benchRate,
  'redis-down': benchRedisDown,
  enqueue: benchEnqueue,
  life: benchLife,
};

const cleanup = new Cleanup();
const cleanUp = async () => {
  for (const failure of await cleanup.run()) say(`could not ${failure}`);
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => void cleanUp().finally(() => process.exit(130)));

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(USAGE);
  else {
    const result = await BENCH[options.bench](options, cleanup);
    present(result, options.json);
    process.exitCode = missed(result).length > 0 ? 1 : 0;
  }
} catch (error) {
  say(`bench: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof UsageError) say('See --help.');
  process.exitCode = 2;
} finally {
  await cleanUp();
}
