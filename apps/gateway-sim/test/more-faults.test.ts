import { connect } from 'node:net';
import { expect, test } from 'vitest';
import type { GatewaySim } from '../src/index.ts';
import { control, ending, post, rawSend, send, simulator } from './client.ts';

const copies = (sim: GatewaySim): number => sim.log.copies('919999999999', 'Your order is ready');

test('truncate-reply is accepted, announced whole, cut, and ended with FIN', async () => {
  const sim = await simulator({ truncateBytes: 30 });
  sim.faults.next('truncate-reply', 2);
  const socket = rawSend(sim);
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  expect(await ending(socket)).toBe('closed');
  const [head = '', body] = text.split('\r\n\r\n');
  expect(body).toBe('{"status":"success","mobile":"');
  expect(Number(/content-length: (\d+)/i.exec(head)?.[1])).toBeGreaterThan(100);
  const answer = await post(sim);
  await expect(answer.text()).rejects.toThrow();
  expect(copies(sim)).toBe(2);
});

test('truncate-reply can cut the whole body', async () => {
  const sim = await simulator({ truncateBytes: 0 });
  sim.faults.next('truncate-reply');
  const socket = rawSend(sim);
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  expect(await ending(socket)).toBe('closed');
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text.endsWith('\r\n\r\n')).toBe(true);
});

test('accept-then-plain is plain although JSON was asked for', async () => {
  const sim = await simulator();
  sim.faults.next('accept-then-plain');
  expect(await (await post(sim)).text()).toMatch(/^success \| 919999999999 \| {2}\| \d{19} \| 200 \| success/);
  expect(copies(sim)).toBe(1);
});

test('accept-slow-first-byte is accepted at once and answered later', async () => {
  const sim = await simulator({ slowMs: 150 });
  sim.faults.next('accept-slow-first-byte');
  const before = performance.now();
  expect((await send(sim)).status).toBe('success');
  expect(performance.now() - before).toBeGreaterThanOrEqual(145);
  expect(copies(sim)).toBe(1);
});

test('throttle-429 is an HTTP error with a well-formed body, not accepted', async () => {
  const sim = await simulator();
  sim.faults.next('throttle-429');
  const answer = await post(sim);
  expect(answer.status).toBe(429);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(await answer.json()).toMatchObject({ status: 'error', statusCode: '9904' });
  expect(sim.log.counts()).toMatchObject({ accepted: 0, refused: 1 });
});

test('an unlisted error, accepted or not', async () => {
  const sim = await simulator();
  sim.faults.next('unlisted-error');
  sim.faults.next('accept-then-unlisted-error');
  for (const accepted of [0, 1]) {
    expect(await send(sim)).toEqual({ status: 'error', statusCode: '9907', reason: expect.any(String) });
    expect(copies(sim)).toBe(accepted);
  }
});

test('a closed port refuses, cuts what was open, and opens again under its number', async () => {
  const sim = await simulator();
  sim.faults.next('hold');
  const cut = ending(rawSend(sim));
  await sim.faults.untilHeld();
  await sim.faults.closePort();
  await sim.faults.closePort();
  await cut;
  expect(await ending(connect(sim.port, '127.0.0.1'))).toBe('ECONNREFUSED');
  await expect(send(sim)).rejects.toThrow();
  await Promise.all([sim.faults.openPort(), sim.faults.openPort()]);
  expect((await send(sim)).status).toBe('success');
  expect(copies(sim)).toBe(2);
});

test('the control endpoint closes the port for a while', async () => {
  const sim = await simulator();
  await control(sim, 'faults', { refuseConnectionsMs: 300 });
  let refused = false;
  const until = performance.now() + 10_000;
  while (!refused && performance.now() < until) refused = (await ending(endedAtOnce(sim))) === 'ECONNREFUSED';
  expect(refused).toBe(true);
  while (refused && performance.now() < until) refused = (await ending(endedAtOnce(sim))) === 'ECONNREFUSED';
  expect((await send(sim)).status).toBe('success');
});

test('a simulator closes while its port is closed', async () => {
  const sim = await simulator();
  await sim.faults.closePort();
  await sim.close();
  await sim.faults.openPort();
  expect(await ending(connect(sim.port, '127.0.0.1'))).toBe('ECONNREFUSED');
});

function endedAtOnce(sim: GatewaySim) {
  const socket = connect(sim.port, '127.0.0.1');
  socket.once('connect', () => socket.destroy());
  return socket;
}
