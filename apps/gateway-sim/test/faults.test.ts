import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { FaultName, GatewaySim } from '../src/index.ts';
import { control, ending, post, rawSend, report, send, simulator } from './client.ts';

const TEXT = 'Your order is ready';
const copies = (sim: GatewaySim): number => sim.log.copies('919999999999', TEXT);

describe('before anything is accepted', () => {
  test('refuse-before-accept is a well-formed error with the invented temporary code', async () => {
    const sim = await simulator();
    sim.faults.next('refuse-before-accept');
    expect(await send(sim)).toMatchObject({ status: 'error', statusCode: '9903' });
    expect(copies(sim)).toBe(0);
    expect((await send(sim)).status).toBe('success');
  });

  test('reset-before-accept is an RST', async () => {
    const sim = await simulator();
    sim.faults.next('reset-before-accept');
    expect(await ending(rawSend(sim))).toBe('ECONNRESET');
    expect(copies(sim)).toBe(0);
  });

  test('http-500 and html-under-200 are HTML pages', async () => {
    const sim = await simulator();
    sim.faults.next('http-500');
    sim.faults.next('html-under-200');
    for (const status of [500, 200]) {
      const answer = await post(sim);
      expect(answer.status).toBe(status);
      expect(await answer.text()).toMatch(/^<html>/);
    }
    expect(copies(sim)).toBe(0);
  });

  test('hang-before-accept says nothing until the client goes', async () => {
    const sim = await simulator();
    sim.faults.next('hang-before-accept');
    await expect(fetchWithin(sim, 300)).rejects.toThrow(/timeout/i);
    expect(copies(sim)).toBe(0);
    await untilIdle(sim);
  });

  test('hold-before-accept accepts on release, and also when the client has left', async () => {
    const sim = await simulator();
    sim.faults.next('hold-before-accept', 2);
    const first = send(sim);
    await sim.faults.untilHeld();
    expect(copies(sim)).toBe(0);
    sim.faults.release();
    expect((await first).status).toBe('success');
    const socket = rawSend(sim);
    await sim.faults.untilHeld();
    socket.destroy();
    await untilIdle(sim);
    expect(copies(sim)).toBe(2);
  });
});

describe('after acceptance', () => {
  test('accept-then-hang', async () => {
    const sim = await simulator();
    sim.faults.next('accept-then-hang');
    await expect(fetchWithin(sim, 300)).rejects.toThrow(/timeout/i);
    expect(copies(sim)).toBe(1);
    await untilIdle(sim);
  });

  test('accept-then-reset', async () => {
    const sim = await simulator();
    sim.faults.next('accept-then-reset');
    expect(await ending(rawSend(sim))).toBe('ECONNRESET');
    expect(copies(sim)).toBe(1);
  });

  test('accept-then-502 and accept-then-html-under-200', async () => {
    const sim = await simulator();
    sim.faults.next('accept-then-502');
    sim.faults.next('accept-then-html-under-200');
    for (const status of [502, 200]) {
      const answer = await post(sim);
      expect(answer.status).toBe(status);
      expect(await answer.text()).toMatch(/^<html>/);
    }
    expect(copies(sim)).toBe(2);
    expect(sim.log.duplicates()).toMatchObject({ pairs: 1, extraCopies: 1 });
  });

  test('hold keeps the reply until released; the message is accepted meanwhile', async () => {
    const sim = await simulator();
    await control(sim, 'faults', { next: { fault: 'hold', count: 2 } });
    const answers = [send(sim), send(sim, { mobile: '919999999998' })];
    await sim.faults.untilHeld(2);
    expect(await control(sim, 'summary')).toMatchObject({ held: 2, inFlight: 2, peakInFlight: 2, accepted: 2 });
    expect(await control(sim, 'release', {})).toMatchObject({ released: 2 });
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe('success');
  });

  test('a held client that leaves is forgotten', async () => {
    const sim = await simulator();
    sim.faults.next('hold');
    const socket = rawSend(sim);
    await sim.faults.untilHeld();
    socket.destroy();
    await untilIdle(sim);
    expect(sim.faults.held).toBe(0);
    expect(copies(sim)).toBe(1);
  });

  test('invalidMobile refuses the first number inside a success', async () => {
    const sim = await simulator();
    sim.faults.next('invalidMobile');
    expect(await send(sim, { mobile: '919999999999,919999999998' })).toMatchObject({
      status: 'success',
      mobile: '919999999998',
      invalidMobile: '919999999999',
    });
    expect(copies(sim)).toBe(0);
  });
});

test('a refused request stays refused under a fault that comes after acceptance', async () => {
  const sim = await simulator();
  sim.faults.next('accept-then-502');
  expect(await send(sim, { password: 'wrong' })).toMatchObject({ statusCode: '216' });
});

test('script before number rules before shares; clear goes back to the start', async () => {
  const sim = await simulator({ faults: { 'http-500': 1 } });
  sim.faults.forNumber(/9$/, 'accept-then-502');
  sim.faults.next('html-under-200');
  expect((await post(sim)).status).toBe(200);
  expect((await post(sim)).status).toBe(502);
  expect((await post(sim, { mobile: '919999999998' })).status).toBe(500);
  sim.faults.share({});
  expect((await post(sim, { mobile: '919999999998' })).status).toBe(200);
  sim.faults.clear();
  expect((await post(sim)).status).toBe(500);
});

test('shares are met, and the same seed gives the same faults', async () => {
  const shares: Partial<Record<FaultName, number>> = { 'http-500': 0.2, 'accept-then-502': 0.3 };
  const runs: string[] = [];
  for (const seed of [7, 7, 8]) {
    const sim = await simulator({ faults: shares, seed });
    const statuses: number[] = [];
    for (let index = 0; index < 300; index++) statuses.push((await post(sim)).status);
    runs.push(statuses.join());
    const count = (status: number): number => statuses.filter((each) => each === status).length;
    expect(count(500)).toBeGreaterThan(35);
    expect(count(500)).toBeLessThan(90);
    expect(count(502)).toBeGreaterThan(60);
    expect(count(502)).toBeLessThan(125);
    expect(copies(sim)).toBe(300 - count(500));
  }
  expect(runs[1]).toBe(runs[0]);
  expect(runs[2]).not.toBe(runs[0]);
});

test('an outage concerns every call of the provider and none of ours', async () => {
  const sim = await simulator();
  const { transactionId = '' } = await send(sim);
  await control(sim, 'faults', { outage: 'http-500' });
  expect((await post(sim)).status).toBe(500);
  expect((await fetch(`${sim.url}/SMSApi/report/status?uuid=${transactionId}`)).status).toBe(500);
  expect((await fetch(`${sim.url}/SMSApi/account/readstatus`)).status).toBe(500);
  expect(await control(sim, 'summary')).toMatchObject({ httpStatus: 200, requests: 1 });
  await control(sim, 'faults', { outage: null });
  expect(await report(sim, transactionId)).toHaveLength(1);
});

test('a body of faults that makes no sense changes nothing and says why', async () => {
  const sim = await simulator();
  for (const body of [
    { next: { fault: 'nonsense' } },
    { forNumber: [{ pattern: '(', fault: 'hold' }] },
    { outage: 'http-500', share: { 'http-500': 0.6, 'accept-then-502': 0.6 } },
    { nonsense: true },
  ]) {
    expect(await control(sim, 'faults', body)).toMatchObject({ httpStatus: 400, error: expect.any(String) });
  }
  expect((await send(sim)).status).toBe('success');
});

test('the reply takes the latency asked for', async () => {
  const sim = await simulator({ latencyMs: { min: 120, max: 120 } });
  const before = performance.now();
  await send(sim);
  expect(performance.now() - before).toBeGreaterThanOrEqual(115);
});

test('close ends hanging and held requests', async () => {
  const sim = await simulator();
  sim.faults.next('accept-then-hang');
  sim.faults.next('hold');
  const endings = [ending(rawSend(sim)), ending(rawSend(sim, { mobile: '919999999998' }))];
  await sim.faults.untilHeld();
  await sim.close();
  await Promise.all(endings);
  expect(sim.activity().openConnections).toBe(0);
});

function fetchWithin(sim: GatewaySim, ms: number): Promise<Response> {
  return fetch(`${sim.url}/SMSApi/send`, {
    method: 'POST',
    body: new URLSearchParams({
      userid: 'demo',
      password: 'demopassword',
      sendMethod: 'quick',
      mobile: '919999999999',
      msg: TEXT,
      senderid: 'SMSGAT',
      msgType: 'text',
      output: 'json',
    }),
    signal: AbortSignal.timeout(ms),
  });
}

async function untilIdle(sim: GatewaySim): Promise<void> {
  for (let waited = 0; sim.activity().inFlight > 0 && waited < 5_000; waited += 5) await sleep(5);
  expect(sim.activity().inFlight).toBe(0);
}
