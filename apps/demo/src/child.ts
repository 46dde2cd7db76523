import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const START_TIMEOUT_MS = 30_000;
const TETHER = new URL('./tether.ts', import.meta.url).href;

export interface ChildOptions {
  /** For people: `submit-1`. */
  readonly name: string;
  /** Workspace folder below `apps`. */
  readonly app: string;
  readonly args?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Takes what the child writes, both outputs. */
  readonly logFile: string;
  /** What a line of its output says when it is ready; undefined while it does not. */
  readonly readyIn: (line: string) => string | undefined;
}

/** A program of the workspace as a process of its own. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Where it answers: what `readyIn` found. */
  readonly url: string;
  /** Resolves when it has ended, with how. */
  readonly ended: Promise<string>;
  /** SIGTERM, and SIGKILL by its id when it has not ended after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts a child and waits until it says that it is ready. It writes straight to its log file, so that the log is whole
 * whatever becomes of us. In a session of its own: a Ctrl-C in the terminal is ours to pass on, once.
 * @throws Error with its last line when it ends, or says nothing for too long.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const main = fileURLToPath(new URL(`../../${options.app}/src/main.ts`, import.meta.url));
  const log = await open(options.logFile, 'a');
  let child: ChildProcess;
  try {
    child = spawn(process.execPath, ['--import', TETHER, main, ...(options.args ?? [])], {
      detached: true,
      stdio: ['pipe', log.fd, log.fd],
      env: { ...inherited(), ...options.environment },
    });
  } finally {
    await log.close();
  }
  child.stdin?.on('error', () => undefined);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `code ${code}` : signal));
  });
  let over: string | undefined;
  void ended.then((how) => {
    over = how;
  });
  const stop = async (graceMs: number) => {
    if (over !== undefined) return;
    child.kill('SIGTERM');
    const inTime = await Promise.race([ended, sleep(graceMs, undefined, { ref: false })]);
    if (inTime !== undefined) return;
    child.kill('SIGKILL');
    await ended;
  };

  for (const until = Date.now() + START_TIMEOUT_MS; ; await sleep(25)) {
    const text = await readFile(options.logFile, 'utf8');
    // Only whole lines: the last may be half written.
    const ready = text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .map(options.readyIn)
      .find(Boolean);
    if (ready !== undefined)
      return { name: options.name, pid: child.pid ?? 0, logFile: options.logFile, url: ready, ended, stop };
    if (over !== undefined)
      throw new Error(`${options.name} ended with ${over} at its start: ${said(text)} (${options.logFile})`);
    if (Date.now() > until) {
      await stop(0);
      throw new Error(`${options.name} was not ready after ${START_TIMEOUT_MS / 1000} s; see ${options.logFile}`);
    }
  }
}

/** What a log says went wrong: its first line that is neither a warning of Node's nor a step of a stack. */
function said(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !/^\s+at |^\(/.test(line));
  return lines.find((line) => /error|SENDLEDGER_/i.test(line)) ?? lines[0] ?? 'it said nothing';
}

/** Nothing of the user's own Sendledger may reach a child: above all no account of a real provider. */
function inherited(): NodeJS.ProcessEnv {
  const foreign = /^(SENDLEDGER_|SMSGATEWAYCENTER_|GATEWAY_SIM_|DATABASE_URL$|REDIS_URL$|PG|NODE_OPTIONS$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}
