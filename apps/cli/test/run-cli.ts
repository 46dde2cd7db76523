import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where the CLI runs: a database, perhaps a Redis, and nothing of the tester's own environment but what Node needs. */
export interface Where {
  readonly url?: string | undefined;
  readonly redisUrl?: string | undefined;
  /** Default: that of the template database. */
  readonly environment?: string | undefined;
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
}

/** Runs the real program as a process of its own. */
export async function runCli(args: readonly string[], where: Where = {}): Promise<Ran> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: where.cwd,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      SENDLEDGER_ENVIRONMENT: where.environment ?? 'test',
      ...(where.url === undefined ? {} : { DATABASE_URL: where.url }),
      ...(where.redisUrl === undefined ? {} : { REDIS_URL: where.redisUrl }),
    },
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  // A command that does not read it closes it; that is no error here.
  child.stdin.on('error', () => undefined);
  child.stdin.end(where.input ?? '');
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { code, ...output };
}

/** A route that can send every class, made by the commands themselves. */
export async function aHouse(url: string, name = 'main'): Promise<void> {
  for (const args of [
    ['route', 'add', name, '--provider', 'smsgatewaycenter', '--sender', 'SHOPIN'],
    ['rate', 'add', '--route', name, '--price', '0.1225', '--currency', 'INR'],
  ]) {
    const ran = await runCli(args, { url });
    if (ran.code !== 0) throw new Error(ran.stderr);
  }
}
