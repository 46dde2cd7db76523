// Runs as a process of its own, outside the group of the process it watches. It reads what to guard from its stdin, one
// JSON object a line; when that pipe closes, however its other end died, it ends the guarded processes and removes
// their folders. It imports nothing but Node and its neighbour, so that it starts fast and cannot fail on a package.
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { endProcess } from './process-life.ts';

interface Guarded {
  pid: number | null;
  signal: NodeJS.Signals;
  directory: string | null;
}

const GRACE_MS = 10_000;
const guarded = new Map<string, Guarded>();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as { id: string; guard: Guarded | null };
  if (message.guard === null) guarded.delete(message.id);
  else guarded.set(message.id, message.guard);
}

await Promise.all(
  [...guarded.values()].map(async ({ pid, signal, directory }) => {
    if (pid !== null) await endProcess(pid, signal, GRACE_MS);
    if (directory !== null) await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }),
);
