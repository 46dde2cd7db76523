import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGotTransport, DEFAULT_TIMEOUTS, readClocks, startSendBudget } from '@sendledger/gateway';
import got, { type OptionsInit } from 'got';
import { Pool } from 'undici';
import type { Cleanup } from '../../apps/demo/src/cleanup.ts';
import { startSimulator } from './fleet.ts';
import type { BenchOptions } from './options.ts';
import { formOf } from './peers/sender.ts';
import { median } from './ratios.ts';
import { say, type Table } from './report.ts';

const AT_ONCE = 64;
const MOST_REQUESTS = 2_000;
const PATH = '/SMSApi/send';
const TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
const HEADERS = { accept: 'application/json', 'user-agent': 'sendledger', ...TYPE };

/** A way to make one request. */
interface Client {
  readonly name: string;
  post(body: string): Promise<void>;
  close(): void;
}

/** What one request costs this process with the client as it ships, with some of its settings left out, and with clients that do less. */
export async function clientCosts(options: BenchOptions, cleanup: Cleanup): Promise<Table> {
  const folder = await mkdtemp(join(tmpdir(), 'sendledger-bench-'));
  cleanup.add('remove the log of the simulator', () => rm(folder, { recursive: true, force: true }));
  const simulator = await startSimulator(folder, '0', null);
  cleanup.add('stop the simulator', () => simulator.stop(5_000));
  const all = clientsOf(simulator.url);
  const requests = Math.min(MOST_REQUESTS, options.messages);
  const costs = new Map<string, number[]>();
  // The first round compiles.
  for (let round = -1; round < options.rounds; round++)
    for (const client of all) {
      const us = await costOf(client, round < 0 ? requests / 4 : requests, (round + 1) * requests);
      if (round < 0) continue;
      costs.set(client.name, [...(costs.get(client.name) ?? []), us]);
      say(`round ${round + 1}, ${client.name}: ${Math.round(us)} us`);
    }
  for (const client of all) client.close();
  await simulator.stop(5_000);
  const us = (name: string) => costs.get(name) ?? [];
  const shipped = us(all[0]?.name ?? '');
  return {
    title: `Processor time of one request in this process, ${AT_ONCE} at once, us, median of the rounds`,
    head: ['', 'us', 'of the first'],
    rows: all.map(({ name }) => [
      name,
      Math.round(median(us(name))),
      median(us(name).map((one, round) => one / (shipped[round] ?? Number.NaN))),
    ]),
  };
}

async function costOf(client: Client, count: number, from: number): Promise<number> {
  let next = 0;
  const before = process.cpuUsage();
  const one = async () => {
    while (next < count) {
      const n = from + next++;
      await client.post(
        new URLSearchParams(formOf(`9198${10_000_000 + n}`, `Your code is ${100_000 + (n % 900_000)}`)).toString(),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

function clientsOf(base: string): Client[] {
  const url = `${base}${PATH}`;
  const whole = {
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    http2: false,
    decompress: true,
    timeout: { ...DEFAULT_TIMEOUTS },
  };
  const { timeout: _timeout, ...untimed } = whole;
  return [
    shipped('got as it ships, a connection each', base, false),
    shipped('the same, connections kept', base, true),
    streamed('got stream without our watch, kept', url, { ...whole, headers: HEADERS }),
    streamed('and without time-outs', url, { ...untimed, headers: HEADERS }),
    streamed('and without decompression', url, { ...untimed, decompress: false, headers: HEADERS }),
    extended('got, options merged once, kept, with time-outs', url, whole),
    promised('got promise, responseType buffer, kept', url, whole),
    node('node:http, a connection each', url, false),
    node('node:http, kept', url, true),
    undici('undici Pool', base),
  ];
}

/** Through the port of the gateway, with a send budget, as `submit` calls it. */
function shipped(name: string, base: string, keepAlive: boolean): Client {
  const transport = createGotTransport({ keepAlive });
  const { 'content-type': _type, ...headers } = HEADERS;
  return {
    name,
    post: async (body) => {
      const result = await transport.post({
        url: new URL(`${base}${PATH}`),
        form: new URLSearchParams(body),
        headers,
        budget: startSendBudget(readClocks(), 5_000),
      });
      if (result.kind !== 'reply') throw new Error(`no reply: ${result.code}`);
    },
    close: () => transport.close(),
  };
}

function streamed(name: string, url: string, options: OptionsInit): Client {
  const agent = { http: new Agent({ keepAlive: true }) };
  return {
    name,
    post: (body) => drained(got.stream.post(url, { ...options, body, agent })),
    close: () => agent.http.destroy(),
  };
}

function extended(name: string, url: string, options: OptionsInit): Client {
  const agent = { http: new Agent({ keepAlive: true }) };
  const client = got.extend({ ...options, headers: HEADERS, agent });
  return { name, post: (body) => drained(client.stream.post(url, { body })), close: () => agent.http.destroy() };
}

function promised(name: string, url: string, options: OptionsInit): Client {
  const agent = { http: new Agent({ keepAlive: true }) };
  return {
    name,
    post: async (body) => {
      await got.post(url, { ...options, headers: HEADERS, body, agent, responseType: 'buffer' });
    },
    close: () => agent.http.destroy(),
  };
}

function node(name: string, url: string, keepAlive: boolean): Client {
  const agent = new Agent({ keepAlive });
  return {
    name,
    post: (body) =>
      new Promise((resolve, reject) => {
        const request = httpRequest(url, {
          method: 'POST',
          agent,
          headers: { ...HEADERS, 'content-length': Buffer.byteLength(body) },
        });
        request.once('error', reject);
        request.once('response', (response) => drained(response).then(resolve, reject));
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

function undici(name: string, base: string): Client {
  const pool = new Pool(base, { connections: AT_ONCE });
  return {
    name,
    post: async (body) => {
      const { body: reply } = await pool.request({ path: PATH, method: 'POST', headers: HEADERS, body });
      await reply.arrayBuffer();
    },
    close: () => void pool.close(),
  };
}

function drained(stream: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('end', () => {
      Buffer.concat(chunks);
      resolve();
    });
    stream.once('error', reject);
  });
}
