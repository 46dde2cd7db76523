import pg from 'pg';
import { Cleanup } from './cleanup.ts';
import { type Interrupt, Interrupted } from './interrupt.ts';
import { whatIsOpen } from './ledger-reading.ts';
import { type MessageFile, openMessageFile } from './message-file.ts';
import { MessageFileSource } from './message-file-source.ts';
import type { DemoOptions } from './options.ts';
import { createScreen, type Screen } from './screen.ts';
import { Shop } from './shop.ts';
import { shopSource } from './shop-hours.ts';
import type { Source } from './source.ts';
import type { Stage } from './stage.ts';
import { booksBefore, describe, judge, type Summary } from './summary.ts';
import { watch } from './watch.ts';

interface Result {
  readonly exitCode: number;
  readonly summary: Summary;
}

/** Builds the stage. What it starts it adds to `cleanup`; between steps it asks whether the user is still there. */
export type BuildStage = (screen: Screen, cleanup: Cleanup, unlessStopped: () => void) => Promise<Stage>;

/** Plays a run from the first server to the last, and answers the exit code. Whatever happens, nothing stays behind. */
export async function play(options: DemoOptions, interrupt: Interrupt, build: BuildStage): Promise<number> {
  const screen = createScreen(options.json ? process.stderr : process.stdout);
  const cleanup = new Cleanup();
  let result: Result | undefined;
  try {
    result = await perform(options, interrupt, screen, cleanup, build);
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

async function perform(
  options: DemoOptions,
  interrupt: Interrupt,
  screen: Screen,
  cleanup: Cleanup,
  build: BuildStage,
): Promise<Result> {
  const unlessStopped = () => interrupt.asked.throwIfAborted();
  const file = options.input === null ? null : await openMessageFile(options.input, cleanup);
  const stage = await build(screen, cleanup, unlessStopped);
  screen.say(...stage.whereabouts);
  unlessStopped();

  const ledger = new pg.Pool({ connectionString: stage.viewerUrl, max: 2, application_name: 'sendledger demo' });
  ledger.on('error', () => undefined);
  cleanup.add('close the ledger', () => ledger.end());
  const before = await booksBefore(ledger, stage.simulatorUrl);
  const source = openSource(options, file, stage, screen);
  cleanup.add('close the shop', () => source.close());

  const { ending, seconds } = await watch({ ledger, source, screen, interrupt, broken: stage.broken, options });
  const open = ending === 'settled' ? [] : await whatIsOpen(ledger);
  const complaints = await stage.lastOrders();
  const verdict = await judge(ledger, stage.simulatorUrl, { created: source.created, seconds, before });
  screen.done();
  screen.say('', ...describe(verdict), ...source.report(), ...complaints, ...notSettled(ending, open));
  return { exitCode: exitCodeOf(ending, verdict.broken, interrupt), summary: verdict.summary };
}

function openSource(
  { messages, seed, exit }: DemoOptions,
  file: MessageFile | null,
  { shopUrl, redisUrl, run }: Stage,
  screen: Screen,
): Source {
  return file === null
    ? shopSource(new Shop(shopUrl, redisUrl), { messages, seed, trickle: !exit, run })
    : new MessageFileSource(file, shopUrl, redisUrl, (...lines) => screen.say(...lines));
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
