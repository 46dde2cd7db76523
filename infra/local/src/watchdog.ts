import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** Something that must not outlive this process. */
export interface Guard {
  /** The server runs as this process now. */
  started(pid: number): void;
  /** This process has ended by itself: its number may be given to somebody else, so the watchdog forgets it. */
  ended(pid: number): void;
  /** The server was stopped and its folder removed in good order: nothing is left to do. */
  release(): void;
}

const script = fileURLToPath(new URL('./watchdog-process.ts', import.meta.url));
let watchdog: ChildProcess | undefined;

/**
 * Guards a server that this process starts: when this process ends in any way, `kill -9` included, the watchdog sends
 * `signal` to the server (SIGKILL ten seconds later) and removes `directory`.
 */
export function guard(signal: NodeJS.Signals, directory: string | null): Guard {
  const id = randomUUID();
  let current: number | null = null;
  const set = (pid: number | null): void => {
    current = pid;
    tell({ id, guard: { pid, signal, directory } });
  };
  set(null);
  return {
    started: set,
    // The news that a server has ended may arrive after its successor was started.
    ended: (pid) => {
      if (pid === current) set(null);
    },
    release: () => tell({ id, guard: null }),
  };
}

function tell(message: object): void {
  watchdog ??= startWatchdog();
  watchdog.stdin?.write(`${JSON.stringify(message)}\n`);
}

function startWatchdog(): ChildProcess {
  // Detached, so that a Ctrl-C or a kill of the whole process group leaves it alive to clean up. NODE_OPTIONS is
  // dropped because a loader or inspector of the parent has no business here.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child = spawn(process.execPath, ['--no-warnings', script], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env,
  });
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return child;
}
