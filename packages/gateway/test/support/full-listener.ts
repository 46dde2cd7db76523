import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';

/** More connections than any queue of length one lets in. */
const MOST_FILLERS = 32;
/** On loopback a connection that is let in is there within this many milliseconds. */
const LET_IN_MS = 300;

/** A port whose queue of connections is full, so that another SYN is not answered: a connect can only time out. */
export async function startFullListener(): Promise<{ readonly port: number }> {
  const worker = new Worker(new URL('./full-listener-worker.ts', import.meta.url));
  const fillers: Socket[] = [];
  onTestFinished(async () => {
    for (const filler of fillers) filler.destroy();
    await worker.terminate();
  });
  const [port] = (await once(worker, 'message')) as [number];
  for (let n = 0; n < MOST_FILLERS; n++) {
    const filler = net.connect(port, '127.0.0.1');
    filler.on('error', () => {});
    fillers.push(filler);
    if (!(await isLetIn(filler))) return { port };
  }
  throw new Error('the queue of a listener that never accepts did not fill up');
}

function isLetIn(socket: Socket): Promise<boolean> {
  return new Promise((answer) => {
    let letIn = false;
    // On a busy machine the timer may be heard before a connection that has long been there.
    const timer = setTimeout(() => setImmediate(() => answer(letIn)), LET_IN_MS);
    socket.once('connect', () => {
      letIn = true;
      clearTimeout(timer);
      answer(true);
    });
  });
}
