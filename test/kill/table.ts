import { ACTIONS, allCells, type Cell, coverage, POSTGRES, PROVIDERS, REDIS, WHOLE_PRODUCT, WORLDS } from './cells.ts';
import { POINTS } from './points.ts';
import type { CellResult } from './run-cell.ts';

/** What is run, and what of the whole product that is, in lines. Said before the first cell. */
export function heading(cells: readonly Cell[], seed: number, fleets: number): string[] {
  const { points, worlds } = coverage(cells);
  const seconds = cells.reduce((sum, cell) => sum + cell.seconds, 0);
  return [
    `kill matrix: ${cells.length} cells, ${seconds} s of work, about ${Math.ceil(seconds / fleets / 60)} min in ${fleets} fleets; seed ${seed}`,
    `  ${points} of ${POINTS.length} points; ${worlds} of ${WORLDS} states of Redis × Postgres × provider`,
    `  all ${allCells().length} cells: the points of every message × kill, stop × provider in full where Redis and Postgres are up, and each of`,
    '  them with every state of Redis and of Postgres; every Redis × Postgres × provider; the points of some messages × kill, stop; a',
    `  restored database × what a sleeper holds of the lost one × provider. The whole product would be ${WHOLE_PRODUCT}.`,
  ];
}

export function listed(cells: readonly Cell[]): string {
  return cells
    .map(
      (cell) =>
        `${String(cell.seconds).padStart(3)} s  ${cell.id}${cell.mustNotCome === null ? '' : `  (nobody comes: ${cell.mustNotCome})`}`,
    )
    .join('\n');
}

export function line(result: CellResult, done: number, of: number): string {
  const { cell, verdict, seconds, states, unknown } = result;
  const mark = { green: 'green', red: 'RED  ' }[verdict];
  const left = unknown === 0 ? '' : ` [${unknown} stay unknown]`;
  return `${String(done).padStart(4)}/${of} ${mark} ${seconds.toFixed(1).padStart(5)} s  ${cell.id}  ${states}${left}`;
}

/** By point, and by the state of each column. */
export function table(results: readonly CellResult[]): string {
  const parts = [
    ['point', POINTS.map((point) => point.title), (cell: Cell) => cell.point.title],
    ['at the point', ACTIONS, (cell: Cell) => cell.action],
    ['Redis', REDIS, (cell: Cell) => cell.redis],
    ['Postgres', POSTGRES, (cell: Cell) => cell.postgres],
    ['provider', PROVIDERS, (cell: Cell) => cell.provider],
  ] as const;
  const rows: string[][] = [['', 'cells', 'green', 'red', 'seconds', 'longest', 'faults injected']];
  for (const [title, names, nameOf] of parts) {
    rows.push([title, '', '', '', '', '', '']);
    for (const name of names) {
      const of = results.filter((result) => nameOf(result.cell) === name);
      if (of.length > 0) rows.push([`  ${name}`, ...figures(of)]);
    }
  }
  rows.push(['all', ...figures(results)]);
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((text, column) => (column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function figures(results: readonly CellResult[]): string[] {
  const count = (verdict: CellResult['verdict']) => String(results.filter((one) => one.verdict === verdict).length);
  const seconds = results.map((one) => one.seconds);
  return [
    String(results.length),
    count('green'),
    count('red'),
    seconds.reduce((sum, one) => sum + one, 0).toFixed(0),
    Math.max(...seconds).toFixed(1),
    String(results.reduce((sum, one) => sum + one.injected, 0)),
  ];
}
