import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Summary } from '../src/summary.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** The demo as a user starts it: a process of its own, on servers of its own unless the environment names some. */
export interface DemoProcess {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Exit code and, with `--json`, what the last line of standard output says. */
  readonly ended: Promise<{ code: number | null; summary: Summary | undefined }>;
  /** Resolves once standard error, or output, matches. Rejects when the demo ends before. */
  saw(pattern: RegExp): Promise<RegExpExecArray>;
}

const running = new Set<ChildProcess>();
const logFolders = new Set<string>();

export function startDemo(args: readonly string[], environment: Record<string, string> = {}): DemoProcess {
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...inherited } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = once(child, 'close').then(([code]) => {
    running.delete(child);
    const [, logs] = /^logs +(\S+)$/m.exec(stdout + stderr) ?? [];
    if (logs !== undefined) logFolders.add(logs);
    return code as number | null;
  });
  return {
    pid: child.pid ?? 0,
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    ended: closed.then((code) => ({ code, summary: lastLine(stdout) })),
    async saw(pattern) {
      for (;;) {
        const found = pattern.exec(stderr) ?? pattern.exec(stdout);
        if (found !== null) return found;
        const over = await Promise.race([
          closed.then(() => true),
          once(child.stderr, 'data').then(() => false),
          once(child.stdout, 'data').then(() => false),
        ]);
        if (over && pattern.exec(stderr) === null && pattern.exec(stdout) === null)
          throw new Error(`the demo ended before ${pattern}: ${stderr}`);
      }
    },
  };
}

/** Asks what a failed test left behind to end: only a demo that ends by itself takes its servers along at once. */
export async function endAllDemos(): Promise<void> {
  await Promise.all(
    [...running].map(async (child) => {
      child.kill('SIGTERM');
      await once(child, 'close');
    }),
  );
}

/** The demo leaves its logs to be read; a test has read them. */
export async function removeLogs(): Promise<void> {
  for (const folder of logFolders) await rm(folder, { recursive: true, force: true });
}

function lastLine(stdout: string): Summary | undefined {
  const line = stdout.trimEnd().split('\n').at(-1) ?? '';
  return line.startsWith('{') ? (JSON.parse(line) as Summary) : undefined;
}

/** Whether a process runs; one that nobody has reaped has ended. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
