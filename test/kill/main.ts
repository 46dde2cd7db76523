import { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { allCells, type Cell, tenthOf } from './cells.ts';
import { shuffled } from './dice.ts';
import { runMatrix } from './matrix.ts';
import { type KillOptions, readOptions, USAGE, UsageError } from './options.ts';
import { heading, line, listed, table } from './table.ts';

const cleanup = new Cleanup();
const say = (text: string) => process.stdout.write(`${text}\n`);
// Whoever reads the table may stop reading; the fleets come to their end all the same.
process.stdout.on('error', () => undefined);
const cleanUp = async () => {
  for (const failure of await cleanup.run()) process.stderr.write(`could not ${failure}\n`);
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => void cleanUp().finally(() => process.exit(130)));

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(USAGE);
  else await kill(options);
} catch (error) {
  if (error instanceof UsageError) process.stderr.write(`kill matrix: ${error.message}\nSee --help.\n`);
  else
    process.stderr.write(`kill matrix: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 2;
} finally {
  await cleanUp();
}

async function kill(options: KillOptions): Promise<void> {
  const { seed, fleets, short } = options;
  const cells = chosen(options);
  const lines = heading(cells, seed, fleets);
  say(short ? (lines[0] ?? '') : lines.join('\n'));
  if (options.list || !short) say(listed(cells));
  if (options.list) return;
  if (!short) say('');
  const begun = performance.now();
  let done = 0;
  const results = await runMatrix(
    shuffled(cells, seed, (cell) => cell.id),
    {
      seed,
      fleets,
      keepLogs: options.keepLogs,
      ended: (result) => {
        done++;
        if (short && result.verdict === 'green') return;
        say(line(result, done, cells.length));
        for (const fault of result.faults) say(`           ${fault}`);
        if (options.keepLogs) say(`           logs: ${result.logFolder}`);
        if (result.verdict === 'red') say(`           npm run test:kill -- --seed ${seed} --cell ${result.cell.id}`);
      },
    },
    cleanup,
  );
  if (!short) say(`\n${table(results)}\n`);
  const red = results.filter((result) => result.verdict === 'red');
  const faults = results.reduce((sum, result) => sum + result.injected, 0);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  say(
    `${red.length === 0 ? `all ${results.length} cells are green` : `${red.length} of ${results.length} cells are red`}; ${faults} faults injected, ${seconds} s by the clock, seed ${seed}`,
  );
  process.exitCode = red.length > 0 ? 1 : 0;
}

/** @throws UsageError where nothing fits */
function chosen({ cells: wanted, only, tenth }: KillOptions): Cell[] {
  const all = allCells();
  for (const id of wanted) if (!all.some((cell) => cell.id === id)) throw new UsageError(`there is no cell ${id}`);
  const fitting = (tenth ? tenthOf(all) : all).filter(
    (cell) =>
      (wanted.length === 0 || wanted.includes(cell.id)) &&
      (only.length === 0 || only.some((part) => cell.id.includes(part))),
  );
  if (fitting.length === 0) throw new UsageError('no cell fits');
  return fitting;
}
