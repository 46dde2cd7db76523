import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { withClient } from '../src/database.ts';
import { startPostgres } from '../src/index.ts';

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const root = fileURLToPath(new URL('./fixtures-under-test', import.meta.url));

async function runFixtures(environment: Record<string, string>): Promise<unknown> {
  // The outer vitest's own variables would make the inner one believe it is a worker.
  const outer = Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_OPTIONS|DATABASE_URL)/.test(name));
  const env = { ...Object.fromEntries(outer), ...environment };
  const directory = await mkdtemp(join(tmpdir(), 'fixtures-report-'));
  try {
    const outputFile = join(directory, 'report.json');
    const flags = ['--reporter', 'json', '--outputFile', outputFile];
    await promisify(execFile)(process.execPath, [vitest, 'run', '--root', root, ...flags], { env, cwd: root });
    return JSON.parse(await readFile(outputFile, 'utf8'));
  } finally {
    await rm(directory, { recursive: true });
  }
}

test('the fixtures work in a run with the global setup, in two files side by side', async () => {
  expect(await runFixtures({})).toMatchObject({ numPassedTests: 10, numTotalTests: 10 });
}, 120_000);

test('on a server given by DATABASE_URL nothing of ours is left', async () => {
  const given = await startPostgres({ only: 'embedded' });
  try {
    expect(await runFixtures({ DATABASE_URL: given.url })).toMatchObject({ numPassedTests: 10 });
    const left = await withClient(given.url, (client) => client.query('select datname from pg_database order by 1'));
    expect(left.rows.map((row) => row.datname)).toEqual(['postgres', 'template0', 'template1']);
  } finally {
    await given.stop();
  }
}, 120_000);
