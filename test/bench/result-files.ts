import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BenchResult, boundOf, met, missed, rounded } from './report.ts';

/** Writes one result, as `<bench>.json` and as `<bench>.md`. */
export async function writeResult(folder: string, result: BenchResult): Promise<void> {
  await writeFile(join(folder, `${result.bench}.json`), `${JSON.stringify(result, null, 2)}\n`);
  await writeFile(join(folder, `${result.bench}.md`), markdownOf(result));
}

/** What was measured in this run, where, and what missed its bar. */
export async function writeIndex(folder: string, results: readonly BenchResult[]): Promise<void> {
  const lines = results.map((result) => {
    const short = missed(result).map((bar) => `${bar.what}: ${rounded(bar.measured)} (${boundOf(bar)})`);
    return `| [${result.bench}](${result.bench}.md) | ${result.at} | ${result.machine.loadBefore} → ${result.loadAfter} | ${short.join('; ') || 'none'} |`;
  });
  const [first] = results;
  const text = ['# Benchmarks', '', first === undefined ? 'Nothing was measured.' : machineLine(first), ''];
  await writeFile(
    join(folder, 'index.md'),
    [...text, '| benchmark | at | load | bars missed |', '| --- | --- | --- | --- |', ...lines, ''].join('\n'),
  );
}

/** A result as people read it in a page. */
export function markdownOf(result: BenchResult): string {
  const tables = result.tables.flatMap(({ title, head, rows }) => [
    `## ${title}`,
    '',
    row(head),
    row(head.map((_, column) => (column === 0 ? '---' : '---:'))),
    ...rows.map(row),
    '',
  ]);
  const bars = result.bars.map((bar) => row([bar.what, bar.measured, boundOf(bar), met(bar) ? 'met' : '**missed**']));
  return [
    `# ${result.bench}`,
    '',
    `${result.at}; ${machineLine(result)}; load ${result.machine.loadBefore} → ${result.loadAfter}.`,
    '',
    `Options: \`${JSON.stringify(result.options)}\``,
    '',
    ...tables,
    ...(bars.length === 0
      ? []
      : ['## Bars', '', row(['what', 'measured', 'bar', '']), row(['---', '---:', '---', '---']), ...bars, '']),
  ].join('\n');
}

function machineLine({ machine }: BenchResult): string {
  const { cores, processor, memoryGiB, node, postgres, redis } = machine;
  return `${cores} cores (${processor}), ${memoryGiB} GiB; Node ${node}; Postgres ${postgres}; Redis ${redis}`;
}

function row(cells: readonly (string | number)[]): string {
  const texts = cells.map((cell) => (typeof cell === 'number' ? rounded(cell) : cell.replaceAll('|', '\\|')));
  return `| ${texts.join(' | ')} |`;
}
