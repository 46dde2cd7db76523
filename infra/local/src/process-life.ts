import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether a process with this id runs. A zombie that nobody has reaped counts as ended. */
export function isRunning(pid: number): boolean {
  if (!namesOneProcess(pid)) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  try {
    // "pid (name) S …": the name may hold spaces and brackets, so the state is read from behind the last one.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
  } catch {
    return true;
  }
}

/** Sends a signal; a process that is gone already is no error. Answers whether the signal was delivered. */
function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  if (!namesOneProcess(pid)) return false;
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Waits until the process has ended; answers false when it still runs after `timeoutMs` milliseconds. */
export async function waitForEnd(pid: number, timeoutMs: number): Promise<boolean> {
  const until = Date.now() + timeoutMs;
  while (isRunning(pid)) {
    if (Date.now() >= until) return false;
    await sleep(10);
  }
  return true;
}

/** Sends `signal`, and SIGKILL when the process still runs after `graceMs` milliseconds. Resolves when it has ended. */
export async function endProcess(pid: number, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  if (!signalProcess(pid, signal)) return;
  if (await waitForEnd(pid, graceMs)) return;
  signalProcess(pid, 'SIGKILL');
  await waitForEnd(pid, graceMs);
}

// To kill(2), 0 is the own group, -1 everybody and other negative numbers are groups: never what is meant here.
function namesOneProcess(pid: number): boolean {
  return Number.isSafeInteger(pid) && pid > 1;
}
