import type { Machine } from './machine.ts';

/** A measured figure and what it must not be worse than. */
export interface Bar {
  readonly what: string;
  readonly measured: number;
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

export interface BenchResult {
  readonly bench: string;
  readonly at: string;
  readonly machine: Machine;
  /** Load average of one minute at the end, our own processes included. */
  readonly loadAfter: number;
  readonly options: Readonly<Record<string, unknown>>;
  readonly tables: readonly Table[];
  readonly bars: readonly Bar[];
}

/** For people, so that standard output can be one JSON object. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

export const met = (bar: Bar) =>
  bar.measured <= (bar.atMost ?? Number.POSITIVE_INFINITY) && bar.measured >= (bar.atLeast ?? Number.NEGATIVE_INFINITY);

export const missed = (result: BenchResult) => result.bars.filter((bar) => !met(bar));

/** @param json whether standard output is kept for the JSON object that follows */
export function present(result: BenchResult, json: boolean): void {
  const out = json ? say : (line: string) => process.stdout.write(`${line}\n`);
  const { machine } = result;
  out(`${result.bench}, ${result.at}`);
  out(`${machine.cores} cores (${machine.processor}), ${machine.memoryGiB} GiB; Node ${machine.node}`);
  out(`Postgres ${machine.postgres}; Redis ${machine.redis}`);
  out(`load ${machine.loadBefore} before, ${result.loadAfter} at the end`);
  for (const table of result.tables) {
    out('');
    out(table.title);
    for (const line of columns([table.head, ...table.rows])) out(line);
  }
  out('');
  for (const bar of result.bars) {
    out(`${met(bar) ? 'met   ' : 'MISSED'}  ${bar.what}: ${rounded(bar.measured)}, ${boundOf(bar)}`);
  }
}

export const boundOf = (bar: Bar) => (bar.atMost === undefined ? `at least ${bar.atLeast}` : `at most ${bar.atMost}`);

/** The first column to the left, figures to the right. */
function columns(rows: readonly (readonly (string | number)[])[]): string[] {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? rounded(cell) : cell)));
  const widths = (texts[0] ?? []).map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  return texts.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
  );
}

/** For people: two digits behind the point where they matter. */
export function rounded(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);
}
