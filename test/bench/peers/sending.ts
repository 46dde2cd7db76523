import { Agent } from 'node:http';
import got from 'got';
import type { SenderTask, SendForm } from './sender.ts';

/** What a worker process of a peer was started with. */
export const task = JSON.parse(process.argv[2] ?? '{}') as SenderTask;

const agent = { http: new Agent({ keepAlive: true }) };

/** One request, once, as a careful user of such a queue would make it. */
export async function send(form: SendForm): Promise<void> {
  await got.post(`${task.simulatorUrl}/SMSApi/send`, { form, agent, retry: { limit: 0 }, responseType: 'buffer' });
}

/** Says that it listens, and ends when the bench lets go of it. */
export function untilLetGo(stop: () => Promise<void>): void {
  process.once('disconnect', () => void stop().finally(() => process.exit(0)));
  process.send?.('listening');
}
