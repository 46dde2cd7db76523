import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Orders } from './orders.ts';
import { BACKFILL_POINTS, POINTS } from './points.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** The points as they stand in the code of apps and packages: `at('…')`, and both sides of `durably(pool, '…', …)` and `atOnce(…)`. */
function pointsInSources(): string[] {
  const sources = globSync('{packages,apps}/*/src/**/*.ts', { cwd: root }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  return sources.flatMap((source) => [
    // Arrays have an `at`, too.
    ...(source.includes("from '@sendledger/core/points'") ? [...source.matchAll(/\bat\('([^']+)'/g)] : []).map(
      ([, name]) => `${name}`,
    ),
    ...[...source.matchAll(/\b(?:durably|atOnce)\(\s*[\w.#]+,\s*'([^']+)'/g)].flatMap(([, name]) => [
      `${name}: before commit`,
      `${name}: after commit`,
    ]),
  ]);
}

/** What a program that stands in a package of ours is given for `@sendledger/core/points`. */
async function resolved(...flags: string[]): Promise<string> {
  const program = `process.stdout.write(import.meta.resolve('@sendledger/core/points'))`;
  const { stdout } = await run(process.execPath, [...flags, '--input-type=module', '--eval', program], {
    cwd: join(root, 'packages/gateway'),
  });
  return stdout;
}

describe('the points of the pipeline', () => {
  test('stand in the sources once each, and are those that the matrix or the test of the backfill stops at', () => {
    const found = pointsInSources();
    expect(found.toSorted()).toEqual([...new Set(POINTS.map((point) => point.name)), ...BACKFILL_POINTS].toSorted());
    expect(new Set(found).size).toBe(found.length);
  });

  test('have a row of the matrix for each way in which a process comes to them', () => {
    expect(new Set(POINTS.map((point) => point.title)).size).toBe(POINTS.length);
    expect(new Set(POINTS.map((point) => `${point.name} ${point.prelude}`)).size).toBe(POINTS.length);
  });

  test('do nothing in any program that does not ask for them: the armed module is not what is loaded', async () => {
    expect(await resolved()).toMatch(/\/points\/none\.ts$/);
    expect(await resolved('--conditions=production')).toMatch(/\/points\/none\.ts$/);
    expect(await resolved('--conditions=sendledger-kill')).toMatch(/\/points\/armed\.ts$/);
  });

  test('are armed by nothing but that condition: no source names the armed module', () => {
    const naming = globSync('{packages,apps,infra}/**/*.{ts,mjs,json}', {
      cwd: root,
      exclude: (path) => /(^|\/)node_modules$/.test(typeof path === 'string' ? path : ''),
    }).filter((path) => /points\/armed|sendledger-kill'/.test(readFileSync(join(root, path), 'utf8')));
    expect(naming).toEqual(['packages/core/package.json']);
  });
});

describe('an order', () => {
  test('stops the process that comes to its point as the n-th, once', async () => {
    const orders = await Orders.open();
    const folder = await mkdtemp(join(tmpdir(), 'sendledger-points-'));
    const said = join(folder, 'said');
    const program = `import { at } from '@sendledger/core/points';
      import { appendFileSync } from 'node:fs';
      for (let i = 1; i <= 3; i++) { at('other'); at('here'); appendFileSync(${JSON.stringify(said)}, i + ' '); }`;
    await writeFile(said, '');
    try {
      const order = await orders.give('here', 2);
      const child = execFile(
        process.execPath,
        ['--conditions=sendledger-kill', '--input-type=module', '--eval', program],
        { cwd: join(root, 'packages/gateway'), env: { ...process.env, SENDLEDGER_KILL_ORDERS: orders.folder } },
      );
      const ended = new Promise((resolve) => child.once('exit', resolve));
      expect(await orders.arrival(order, performance.now() + 60_000)).toEqual({ pid: child.pid, point: 'here' });
      expect(await readFile(said, 'utf8')).toBe('1 ');
      child.kill('SIGCONT');
      expect(await ended).toBe(0);
      expect(await readFile(said, 'utf8')).toBe('1 2 3 ');
    } finally {
      await orders.close();
      await rm(folder, { recursive: true });
    }
  });

  test('that is taken back stops nobody', async () => {
    const orders = await Orders.open();
    const order = await orders.give('here');
    expect(await orders.withdraw(order)).toBeNull();
    const program = `import { at } from '@sendledger/core/points'; at('here');`;
    await run(process.execPath, ['--conditions=sendledger-kill', '--input-type=module', '--eval', program], {
      cwd: join(root, 'packages/gateway'),
      env: { ...process.env, SENDLEDGER_KILL_ORDERS: orders.folder },
    });
    await orders.close();
  });
});
