import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AppName } from '../support/app-process.ts';
import { ARMED } from './worker.ts';

/**
 * Runs each app once without settings, which it refuses after it was read whole, so that the runtime keeps what it made of the sources.
 * A process that is killed keeps nothing, and the matrix starts hundreds.
 *
 * @returns what a process is given to find it
 */
export async function compiledOnce(folder: string): Promise<{ readonly NODE_COMPILE_CACHE: string }> {
  const environment = { NODE_COMPILE_CACHE: folder };
  for (const app of ['claim', 'submit', 'reconcile'] satisfies AppName[]) {
    const main = fileURLToPath(new URL(`../../apps/${app}/src/main.ts`, import.meta.url));
    const child = spawn(process.execPath, [ARMED, main], {
      env: { PATH: process.env.PATH, ...environment },
      stdio: 'ignore',
    });
    await once(child, 'exit');
  }
  return environment;
}
