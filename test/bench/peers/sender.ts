import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import type { Cleanup } from '../../../apps/demo/src/cleanup.ts';

/** The form of a send, as the simulated provider reads it. */
export type SendForm = Readonly<Record<string, string>>;

/** Another queue whose jobs are requests to the provider, worked off by a process of its own. */
export interface SendingPeer {
  readonly name: string;
  /** In the caller's transaction: a job that goes before all promotions. */
  enqueueCode(tx: pg.ClientBase, form: SendForm): Promise<void>;
  /** In the caller's transaction. */
  enqueuePromotions(tx: pg.ClientBase, forms: readonly SendForm[]): Promise<void>;
  /** Starts its worker and answers how to end it. */
  startWorker(task: SenderTask): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

export interface SenderTask {
  readonly databaseUrl: string;
  readonly simulatorUrl: string;
  /** Requests on the wire at once, of promotions. */
  readonly inFlight: number;
  /** Works promotions off too; else only codes, as if there were nothing else. */
  readonly promotions: boolean;
}

export function formOf(mobile: string, text: string): SendForm {
  const account = { output: 'json', userid: 'demo', password: 'demopassword' };
  return {
    ...account,
    sendMethod: 'quick',
    mobile,
    msg: text,
    senderid: 'SHOPIN',
    msgType: 'text',
    duplicatecheck: 'true',
  };
}

const GRACE_MS = 10_000;

/** Starts a worker as a process of its own and waits until it says that it listens. It ends with us, however that comes. */
export async function startSender(file: string, task: SenderTask, cleanup: Cleanup): Promise<() => Promise<void>> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(task)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      if (child.connected) child.disconnect();
      const late = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
      await ended;
      clearTimeout(late);
    })();
    return stopping;
  };
  cleanup.add(`stop ${file}`, stop);
  const first = await Promise.race([once(child, 'message'), ended]);
  if (first[0] !== 'listening') throw new Error(`${file} ended at its start`);
  return stop;
}
