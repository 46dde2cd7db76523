import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isRunning, waitForEnd } from '../src/process-life.ts';

const program = fileURLToPath(new URL('./programs/hold-servers.ts', import.meta.url));

interface Held {
  postgres: number;
  redis: number;
  directory: string;
}

async function startHolder(argument: string) {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const parent = spawn(process.execPath, [program, argument], { stdio: ['ignore', 'pipe', 'inherit'], env });
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  return { parent, held: JSON.parse(line) as Held };
}

async function expectEverythingGone(held: Held): Promise<void> {
  expect(await waitForEnd(held.postgres, 15_000)).toBe(true);
  expect(await waitForEnd(held.redis, 15_000)).toBe(true);
  for (let waited = 0; existsSync(held.directory) && waited < 5_000; waited += 50) await sleep(50);
  expect(existsSync(held.directory)).toBe(false);
}

test('servers and their data go when the process that started them is killed with SIGKILL', async () => {
  const { parent, held } = await startHolder('stay');
  expect(isRunning(held.postgres)).toBe(true);
  expect(isRunning(held.redis)).toBe(true);
  expect(existsSync(held.directory)).toBe(true);
  parent.kill('SIGKILL');
  await expectEverythingGone(held);
}, 60_000);

test('servers and their data go when the process ends without stopping them', async () => {
  const { held } = await startHolder('return');
  await expectEverythingGone(held);
}, 60_000);
