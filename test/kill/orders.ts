import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 5;

/** The process that took an order, and stands at its point. */
export interface Arrival {
  readonly pid: number;
  readonly point: string;
}

/** The other end of the armed points: lays orders for a fleet, one at a time, and sees who came. */
export class Orders {
  readonly folder: string;
  #given = 0;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(): Promise<Orders> {
    return new Orders(await mkdtemp(join(tmpdir(), 'sendledger-kill-')));
  }

  /** From now on the process that comes to this point as the n-th stops itself there. */
  async give(point: string, nth = 1): Promise<string> {
    const id = String(++this.#given);
    const draft = join(this.folder, 'draft.json');
    await rm(join(this.folder, 'arrived.json'), { force: true });
    await writeFile(draft, JSON.stringify({ id, point, nth }));
    await rename(draft, join(this.folder, 'order.json'));
    return id;
  }

  /** Who came; null when nobody has by then. The process stands still when this answers. */
  async arrival(id: string, untilMs: number): Promise<Arrival | null> {
    for (;;) {
      const arrived = await this.#read('arrived.json');
      if (arrived?.id === id) {
        while ((await stateOf(arrived.pid)) === 'running' && performance.now() < untilMs) await sleep(LOOK_EVERY_MS);
        return { pid: arrived.pid, point: arrived.point };
      }
      if (performance.now() > untilMs) return null;
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Takes an order back. Answers whether somebody had come meanwhile. */
  async withdraw(id: string): Promise<Arrival | null> {
    await rm(join(this.folder, 'order.json'), { force: true });
    const arrived = await this.#read('arrived.json');
    return arrived?.id === id ? { pid: arrived.pid, point: arrived.point } : null;
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async #read(name: string): Promise<(Arrival & { readonly id: string }) | undefined> {
    try {
      return JSON.parse(await readFile(join(this.folder, name), 'utf8')) as Arrival & { readonly id: string };
    } catch {
      return undefined;
    }
  }
}

/** Whether a process stands still, as the system says; where it says nothing, it is believed to. */
async function stateOf(pid: number): Promise<'running' | 'stopped'> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // "pid (name) S …": the name may hold spaces and brackets.
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T') ? 'stopped' : 'running';
  } catch {
    return 'stopped';
  }
}
