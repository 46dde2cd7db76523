import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { control, report, send, simulator } from './client.ts';

interface Arrival {
  type: string;
  body: string;
  at: number;
}

/** A listener for receipts that answers with what `answer` says for the n-th, counted from 0. */
async function listener(answer: (index: number) => number = () => 200) {
  const arrivals: Arrival[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    arrivals.push({ type: request.headers['content-type'] ?? '', body, at: performance.now() });
    response.writeHead(answer(arrivals.length - 1)).end();
  });
  // A kept connection that this end closes just when a receipt is written to it would cost that receipt a try.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const numbers = () => arrivals.map(({ body }) => new URLSearchParams(body).get('MobileNumber') ?? '');
  const codes = () => arrivals.map(({ body }) => new URLSearchParams(body).get('ErrorCode') ?? '');
  return { arrivals, numbers, codes, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/dlr` };
}

const mobiles = (count: number) => Array.from({ length: count }, (_, index) => `${919_000_000_000 + index}`);

test('the portal’s fields: a form without a status, DeliveredTime on failures too', async () => {
  const { arrivals, url } = await listener();
  const sim = await simulator({
    pushUrl: url,
    now: () => Date.parse('2026-07-17T06:30:00Z'),
    failMobile: /7$/,
    failCauses: ['DND', 'Inbox Full'],
  });
  const { transactionId = '' } = await send(sim, { mobile: '919999999999,919999999997' });
  await sim.push.settled();
  expect(arrivals.every(({ type }) => type.startsWith('application/x-www-form-urlencoded'))).toBe(true);
  const receipts = arrivals.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
  receipts.sort((one, other) => String(one.ErrorCode).localeCompare(String(other.ErrorCode)));
  const rows = await report(sim, transactionId);
  expect(receipts).toEqual([
    {
      Transactionid: transactionId,
      Messageid: rows[0]?.msgId,
      ErrorCode: '0',
      MobileNumber: '919999999999',
      ReceivedTime: '2026-07-17 12:00:00',
      DeliveredTime: '2026-07-17 12:00:00',
    },
    expect.objectContaining({
      Messageid: rows[1]?.msgId,
      ErrorCode: expect.stringMatching(/^[12]$/),
      DeliveredTime: '2026-07-17 12:00:00',
    }),
  ]);
  expect(sim.push.counts()).toEqual({ delivered: 2, failed: 0, lost: 0, pending: 0 });
});

test('the legacy fields in JSON', async () => {
  const { arrivals, url } = await listener();
  const now = Date.parse('2026-07-17T06:30:00Z');
  const sim = await simulator({ pushUrl: url, pushFields: 'legacy', now: () => now });
  const { transactionId } = await send(sim);
  await sim.push.settled();
  expect(arrivals[0]?.type).toBe('application/json');
  expect(JSON.parse(arrivals[0]?.body ?? '')).toEqual({
    transId: transactionId,
    msgId: expect.stringMatching(/^[a-z0-9]{15}$/),
    errorCode: '0',
    dlrTime: String(now),
    mobile: '919999999999',
  });
});

test('a receipt comes when the final status is due, and not before', async () => {
  const { arrivals, url } = await listener();
  let now = 1_700_000_000_000;
  const sim = await simulator({ pushUrl: url, now: () => now, deliveryMs: { min: 60_000, max: 60_000 } });
  await send(sim);
  expect(sim.push.counts().pending).toBe(1);
  expect(arrivals).toEqual([]);
  now += 60_000;
  await sim.push.settled();
  expect(arrivals).toHaveLength(1);
});

test('what is not answered with 200 is pushed again, and given up in the end', async () => {
  const { arrivals, url } = await listener((index) => (index < 2 ? 503 : 200));
  const sim = await simulator({ pushUrl: url, pushRetryMs: 40 });
  await send(sim);
  await sim.push.settled();
  expect(arrivals).toHaveLength(3);
  expect((arrivals[1]?.at ?? 0) - (arrivals[0]?.at ?? 0)).toBeGreaterThan(35);
  expect(sim.push.counts()).toEqual({ delivered: 1, failed: 0, lost: 0, pending: 0 });

  const deaf = await listener(() => 302);
  const stubborn = await simulator({ pushUrl: deaf.url, pushRetryMs: 5, pushTries: 3 });
  await send(stubborn);
  await stubborn.push.settled();
  expect(deaf.arrivals).toHaveLength(3);
  expect(stubborn.push.counts()).toMatchObject({ delivered: 0, failed: 1 });
});

test('no more than the rate in a second', async () => {
  const { arrivals, url } = await listener();
  const sim = await simulator({ pushUrl: url, pushRate: 50 });
  await send(sim, { mobile: mobiles(40).join(',') });
  await sim.push.settled();
  expect(arrivals).toHaveLength(40);
  expect((arrivals.at(-1)?.at ?? 0) - (arrivals[0]?.at ?? 0)).toBeGreaterThan(650);
});

test('lost and duplicate receipts by seeded share', async () => {
  const runs: string[] = [];
  for (const seed of [3, 3, 4]) {
    const { numbers, url } = await listener();
    // One try each: what arrives twice was drawn so, and is not a receipt whose answer a busy machine held up.
    const sim = await simulator({ pushUrl: url, seed, pushLose: 0.3, pushDuplicate: 0.2, pushTries: 1 });
    await send(sim, { mobile: mobiles(300).join(',') });
    await sim.push.settled();
    const { lost } = sim.push.counts();
    expect(lost).toBeGreaterThan(50);
    expect(lost).toBeLessThan(130);
    const distinct = new Set(numbers()).size;
    expect(distinct).toBe(300 - lost);
    expect(numbers().length - distinct).toBeGreaterThan(15);
    runs.push(numbers().sort().join());
  }
  expect(runs[1]).toBe(runs[0]);
  expect(runs[2]).not.toBe(runs[0]);
});

test('shuffled receipts overtake one another', async () => {
  const { numbers, url } = await listener();
  const sim = await simulator({ pushUrl: url });
  sim.push.faults({ shuffleMs: 150 });
  await send(sim, { mobile: mobiles(60).join(',') });
  await sim.push.settled();
  const arrived = numbers();
  expect(arrived).not.toEqual(mobiles(60));
  expect(arrived.sort()).toEqual(mobiles(60));
});

test('both words of a flip are pushed, a stuck or parked message waits without being pending', async () => {
  const { arrivals, codes, numbers, url } = await listener();
  let now = 1_700_000_000_000;
  const sim = await simulator({ pushUrl: url, now: () => now });
  sim.delivery.flip(/1$/, { afterMs: 10_000 });
  sim.delivery.stuck(/2$/);
  sim.delivery.override(/3$/, { status: 'PARKED', cause: '' });
  await send(sim, { mobile: '919999999991,919999999992,919999999993' });
  now += 10_000;
  await sim.push.settled();
  expect(numbers()).toEqual(['919999999991', '919999999991']);
  expect(codes()[0]).toBe('0');
  expect(codes()[1]).not.toBe('0');
  expect(sim.push.counts().pending).toBe(0);
  sim.delivery.clear();
  await sim.push.settled();
  expect(arrivals).toHaveLength(4);
});

test('a schedule that is deleted is not pushed, one that is moved is pushed at its new time', async () => {
  const { numbers, url } = await listener();
  let now = Date.parse('2026-07-17T06:30:00Z');
  const sim = await simulator({ pushUrl: url, now: () => now });
  const at = { scheduleTime: '2026-07-17 13:00:00' };
  const deleted = await send(sim, { ...at, mobile: '919999999991' });
  const moved = await send(sim, { ...at, mobile: '919999999992' });
  sim.schedules.cancel(deleted.transactionId ?? '');
  sim.schedules.move(moved.transactionId ?? '', now + 1_000);
  expect(sim.push.counts().pending).toBe(1);
  now += 1_000;
  await sim.push.settled();
  expect(numbers()).toEqual(['919999999992']);
});

test('switched on, it pushes what is not final yet; switched off, it drops what waits', async () => {
  const { numbers, url } = await listener();
  let now = 1_700_000_000_000;
  const sim = await simulator({ now: () => now, deliveryMs: { min: 1_000, max: 1_000 } });
  await send(sim, { mobile: '919999999991' });
  now += 1_000;
  await send(sim, { mobile: '919999999992' });
  await control(sim, 'push', { to: url });
  expect(sim.push.counts().pending).toBe(1);
  now += 1_000;
  await sim.push.settled();
  expect(numbers()).toEqual(['919999999992']);
  await send(sim, { mobile: '919999999993' });
  sim.push.to(null);
  expect(sim.push.counts().pending).toBe(0);
  expect(() => sim.push.to('ftp://x')).toThrow(RangeError);
  expect(await control(sim, 'push', { to: 'no url' })).toMatchObject({ httpStatus: 400 });
});

test('close ends waiting and retrying', async () => {
  const { url } = await listener(() => 500);
  const sim = await simulator({ pushUrl: url, pushRetryMs: 60_000 });
  await send(sim);
  const settled = sim.push.settled();
  await sim.close();
  await settled;
  expect(sim.push.counts().pending).toBe(0);
});

test('a message for later is pushed at its time, at once when dispatched, and never when deleted', async () => {
  const { numbers, url } = await listener();
  const clock = { now: Date.parse('2026-07-17T06:30:00Z') };
  const sim = await simulator({ pushUrl: url, now: () => clock.now });
  const scheduleTime = '2026-07-17 13:00:00';
  const [dispatched = '', deleted = '', waiting = ''] = mobiles(3);
  const ids = [];
  for (const mobile of [dispatched, deleted, waiting])
    ids.push((await send(sim, { mobile, scheduleTime })).transactionId);
  await send(sim, { mobile: '919999999999' });
  // It has arrived before its answer is back, with which it counts as delivered.
  await expect.poll(() => sim.push.counts()).toMatchObject({ delivered: 1, pending: 3 });
  expect(numbers()).toEqual(['919999999999']);
  expect(sim.schedules.dispatch(ids[0] ?? '')).toBe('done');
  expect(sim.schedules.cancel(ids[1] ?? '')).toBe('done');
  await expect.poll(() => sim.push.counts()).toMatchObject({ delivered: 2, pending: 1 });
  expect(numbers()).toEqual(['919999999999', dispatched]);
  clock.now += 3_600_000;
  await sim.push.settled();
  expect(numbers()).toEqual(['919999999999', dispatched, waiting]);
});
