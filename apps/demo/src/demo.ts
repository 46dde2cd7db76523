import pg from 'pg';
import { Cleanup } from './cleanup.ts';
import { startFleet } from './fleet.ts';
import { furnish } from './house.ts';
import { type Interrupt, Interrupted } from './interrupt.ts';
import { whatIsOpen } from './ledger-reading.ts';
import { type MessageFile, openMessageFile } from './message-file.ts';
import { MessageFileSource } from './message-file-source.ts';
import type { DemoOptions } from './options.ts';
import { roleUrls } from './roles.ts';
import { createScreen, type Screen } from './screen.ts';
import { startServices } from './services.ts';
import { Shop } from './shop.ts';
import { shopSource } from './shop-hours.ts';
import type { Source } from './source.ts';
import { describe, judge, type Summary } from './summary.ts';
import { watch } from './watch.ts';
import { whereabouts } from './whereabouts.ts';

interface Result {
  readonly exitCode: number;
  readonly summary: Summary;
}

/** Runs the demo from the first server to the last, and answers the exit code. Whatever happens, nothing stays behind. */
export async function runDemo(options: DemoOptions, interrupt: Interrupt): Promise<number> {
  const screen = createScreen(options.json ? process.stderr : process.stdout);
  const cleanup = new Cleanup();
  let result: Result | undefined;
  try {
    result = await play(options, interrupt, screen, cleanup);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
  } finally {
    screen.done();
    for (const failure of await cleanup.run()) screen.say(`could not ${failure}`);
  }
  if (result === undefined) {
    screen.say('stopped');
    return interrupt.exitCode;
  }
  if (options.json) process.stdout.write(`${JSON.stringify(result.summary)}\n`);
  return result.exitCode;
}

async function play(options: DemoOptions, interrupt: Interrupt, screen: Screen, cleanup: Cleanup): Promise<Result> {
  const unlessStopped = () => interrupt.asked.throwIfAborted();
  const file = options.input === null ? null : await openMessageFile(options.input, cleanup);
  screen.say('starting Postgres and Redis');
  const services = await startServices(cleanup);
  unlessStopped();
  screen.say('migrating, and starting the simulated provider and the workers');
  await furnish(services.databaseUrl, options.workers);
  const urls = await roleUrls(services);
  unlessStopped();
  const fleet = await startFleet(
    { urls, redisUrl: services.redisUrl, submitWorkers: options.workers, faults: options.faults, seed: options.seed },
    cleanup,
  );
  screen.say(...whereabouts(services, fleet));
  unlessStopped();

  const ledger = new pg.Pool({ connectionString: urls.viewer, max: 2, application_name: 'sendledger demo' });
  ledger.on('error', () => undefined);
  cleanup.add('close the ledger', () => ledger.end());
  const source = openSource(options, file, urls.shop, services.redisUrl, screen);
  cleanup.add('close the shop', () => source.close());

  const { ending, seconds } = await watch({ ledger, source, screen, interrupt, broken: fleet.broken, options });
  const open = ending === 'settled' ? [] : await whatIsOpen(ledger);
  // Before the books are compared nobody may still write in them.
  const complaints = await fleet.stopWorkers();
  const verdict = await judge(ledger, fleet.simulator.url, source.created, seconds);
  screen.done();
  screen.say('', ...describe(verdict), ...source.report(), ...complaints, ...notSettled(ending, open));
  return { exitCode: exitCodeOf(ending, verdict.broken, interrupt), summary: verdict.summary };
}

function openSource(
  { messages, seed, exit }: DemoOptions,
  file: MessageFile | null,
  databaseUrl: string,
  redisUrl: string | null,
  screen: Screen,
): Source {
  return file === null
    ? shopSource(new Shop(databaseUrl, redisUrl), { messages, seed, trickle: !exit })
    : new MessageFileSource(file, databaseUrl, redisUrl, (...lines) => screen.say(...lines));
}

function notSettled(ending: 'settled' | 'timeout' | 'stopped', open: readonly string[]): string[] {
  if (open.length === 0) return [];
  const title =
    ending === 'timeout' ? 'Time is over. Still open:' : 'Still open; workers that start again go on with them:';
  return ['', title, ...open.map((what) => `  ${what}`)];
}

function exitCodeOf(
  ending: 'settled' | 'timeout' | 'stopped',
  broken: readonly string[],
  interrupt: Interrupt,
): number {
  // Stopped before it was done is no verdict.
  if (ending === 'stopped') return interrupt.exitCode;
  return broken.length === 0 && ending === 'settled' ? 0 : 1;
}
