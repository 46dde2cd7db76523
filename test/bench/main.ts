import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { benchClaim } from './claim.ts';
import { benchEnqueue } from './enqueue.ts';
import { benchHttp } from './http.ts';
import { benchLatency } from './latency.ts';
import { benchLife } from './life.ts';
import { benchOps } from './ops.ts';
import { type BenchOptions, readOptions, USAGE, UsageError } from './options.ts';
import { benchOtpUnderBacklog } from './otp-under-backlog.ts';
import { benchRate } from './rate.ts';
import { benchRedisDown } from './redis-down.ts';
import { type BenchResult, missed, present, say } from './report.ts';
import { writeIndex, writeResult } from './result-files.ts';
import { benchSlowDisk } from './slow-disk.ts';

const BENCH: Record<BenchOptions['bench'], (options: BenchOptions, cleanup: Cleanup) => Promise<BenchResult>> = {
  'otp-under-backlog': benchOtpUnderBacklog,
  rate: benchRate,
  'redis-down': benchRedisDown,
  enqueue: benchEnqueue,
  life: benchLife,
  latency: benchLatency,
  claim: benchClaim,
  http: benchHttp,
  'slow-disk': benchSlowDisk,
  ops: benchOps,
};

const cleanup = new Cleanup();
const cleanUp = async () => {
  for (const failure of await cleanup.run()) say(`could not ${failure}`);
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => void cleanUp().finally(() => process.exit(130)));

/** Exit code: 0 where every bar is met, 1 where one is missed, 2 where something could not be measured. */
let code = 0;

function failed(what: string, error: unknown): void {
  say(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof UsageError) say('See --help.');
  code = 2;
}

async function runAll(wanted: readonly BenchOptions[]): Promise<void> {
  const results: BenchResult[] = [];
  for (const options of wanted) {
    for (const folder of [options.out, options.profile]) if (folder !== null) await mkdir(folder, { recursive: true });
    try {
      const result = await BENCH[options.bench](options, cleanup);
      results.push(result);
      present(result, options.json);
      if (missed(result).length > 0) code = Math.max(code, 1);
      if (options.out !== null) await writeResult(options.out, result);
    } catch (error) {
      // The others can still be measured.
      failed(options.bench, error);
    }
    // Each has the machine to itself.
    await cleanUp();
  }
  const [first] = wanted;
  if (first === undefined) return;
  if (first.out !== null) await writeIndex(first.out, results);
  if (first.json) process.stdout.write(`${JSON.stringify(wanted.length === 1 ? (results[0] ?? null) : { results })}\n`);
}

try {
  const wanted = readOptions(process.argv.slice(2));
  if (wanted === 'help') process.stdout.write(USAGE);
  // A child's working folder may be another one.
  else await runAll(wanted.map((one) => ({ ...one, profile: one.profile === null ? null : resolve(one.profile) })));
} catch (error) {
  failed('bench', error);
} finally {
  await cleanUp();
  process.exitCode = code;
}
