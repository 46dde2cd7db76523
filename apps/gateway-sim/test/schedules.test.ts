import { expect, test } from 'vitest';
import type { GatewaySim } from '../src/index.ts';
import { CREDENTIALS, call, control, dlr, report, send, simulator } from './client.ts';

// 12:00:00 in India.
const NOON = Date.parse('2026-07-17T06:30:00Z');
const AT_ONE = { scheduleTime: '2026-07-17 13:00:00' };
const ONE = NOON + 3_600_000;
const DAY = { fromdate: '2026-07-17', todate: '2026-07-17' };

async function started(options: Parameters<typeof simulator>[0] = {}) {
  const clock = { now: NOON };
  return { sim: await simulator({ now: () => clock.now, ...options }), clock };
}

async function list(sim: GatewaySim, parameters: Record<string, string> = {}) {
  const answer = await call(sim, 'schedule/read', parameters);
  const { response } = answer as { response: { scheduleList: { schedule: Record<string, string> }[] } };
  return response.scheduleList.map(({ schedule }) => schedule);
}

test('a send for later is charged at once, listed, and appears in reports from its time on', async () => {
  const { sim, clock } = await started();
  const { transactionId = '' } = await send(sim, { ...AT_ONE, mobile: '919999999999,919999999998' });
  await send(sim, { msg: 'at once' });
  expect(sim.billed()).toBe('0.3600');
  expect(await list(sim)).toEqual([
    {
      uuId: transactionId,
      status: 'SCHEDULED',
      total: '2',
      timestamp: String(NOON),
      scheduledTimestamp: String(ONE),
      lastupdatedTimestamp: '0',
    },
  ]);
  clock.now = ONE - 1;
  expect(await report(sim, transactionId)).toEqual([]);
  expect((await dlr(sim, DAY)).rows.map(({ text }) => text)).toEqual(['at once']);
  clock.now = ONE;
  expect(await report(sim, transactionId)).toMatchObject([{ 'Submitted Time': 'July 17, 2026 13:00:00' }, {}]);
  // Oldest acceptance first.
  expect((await dlr(sim, DAY)).rows.map(({ submitTime }) => submitTime)).toEqual([
    '2026-07-17 13:00:00',
    '2026-07-17 13:00:00',
    '2026-07-17 12:00:00',
  ]);
  expect(await list(sim)).toMatchObject([{ status: 'SENT' }]);
});

test('a scheduled message belongs to the day on which it goes out', async () => {
  const { sim, clock } = await started();
  await send(sim, { scheduleTime: '2026-07-18 00:00:00' });
  clock.now += 86_400_000;
  expect((await dlr(sim, DAY)).rows).toEqual([]);
  const next = { fromdate: '2026-07-18', todate: '2026-07-18' };
  expect((await dlr(sim, next)).rows).toHaveLength(1);
  expect((await dlr(sim, { ...next, mobileNo: '9999999999' })).rows).toHaveLength(1);
});

test('scheduleTime is read by the provider’s zone and clock', async () => {
  const { sim } = await started({ zone: 'UTC', clockSkewMs: 60_000 });
  expect(await send(sim, { scheduleTime: '2026-07-17 06:31:00' })).toMatchObject({ statusCode: '9901' });
  await send(sim, { scheduleTime: '2026-07-17 06:32:00' });
  expect(sim.schedules.list()).toMatchObject([{ scheduledAt: NOON + 60_000 }]);
});

test('update moves a schedule, by POST only, until its time has come', async () => {
  const { sim, clock } = await started();
  const { transactionId: uuid = '' } = await send(sim, AT_ONE);
  clock.now += 60_000;
  expect(await call(sim, 'schedule/update', { uuid, scheduletime: '2026-07-17 14:00:00' })).toEqual({
    response: { api: 'schedule', action: 'update', status: 'success', msg: 'success', code: '200', count: 1 },
  });
  expect(await list(sim, { uuid })).toMatchObject([
    { scheduledTimestamp: String(ONE + 3_600_000), lastupdatedTimestamp: String(NOON + 60_000) },
  ]);
  const query = new URLSearchParams({ ...CREDENTIALS, uuid, scheduletime: '2026-07-17 15:00:00' });
  expect((await fetch(`${sim.url}/SMSApi/schedule/update?${query}`)).status).toBe(404);
  clock.now = ONE;
  expect(await report(sim, uuid)).toEqual([]);
  for (const scheduletime of ['soon', '2026-07-17 12:00:00', '']) {
    expect(await call(sim, 'schedule/update', { uuid, scheduletime })).toMatchObject({ statusCode: '9901' });
  }
  clock.now = ONE + 3_600_000;
  expect(await report(sim, uuid)).toHaveLength(1);
  const late = { uuid, scheduletime: '2026-07-17 15:00:00' };
  expect(await call(sim, 'schedule/update', late)).toMatchObject({ status: 'error', statusCode: '9908' });
  expect(await call(sim, 'schedule/delete', { uuid })).toMatchObject({ status: 'error', statusCode: '9908' });
  expect(await call(sim, 'schedule/delete', { uuid: '1' })).toMatchObject({ status: 'error', statusCode: '9905' });
});

test.each([
  [false, '0.2400'],
  [true, '0.0000'],
])('a deleted schedule is never delivered; with refundCancelled %s the bill is %s', async (refundCancelled, billed) => {
  const { sim, clock } = await started({ refundCancelled, balance: '1' });
  const { transactionId: uuid = '' } = await send(sim, { ...AT_ONE, mobile: '919999999999,919999999998' });
  expect(await call(sim, 'schedule/delete', { uuid })).toMatchObject({ response: { status: 'success' } });
  expect(await call(sim, 'schedule/delete', { uuid })).toMatchObject({ statusCode: '9905' });
  clock.now = ONE + 1;
  expect(await report(sim, uuid)).toEqual([]);
  expect((await dlr(sim, DAY)).rows).toEqual([]);
  expect(await list(sim)).toMatchObject([{ status: 'DELETED', lastupdatedTimestamp: String(NOON) }]);
  expect(sim.billed()).toBe(billed);
  expect(sim.account.balance).toBe(refundCancelled ? '1.0000' : '0.7600');
});

test('a planted schedule is listed, charged to nobody, and can be changed', async () => {
  const { sim } = await started();
  const uuid = sim.schedules.add({ scheduledAt: ONE, total: 7 });
  const { uuId } = (await control(sim, 'schedules', { scheduledAt: ONE })) as { uuId: string };
  expect(await list(sim)).toMatchObject([
    { uuId: uuid, total: '7', status: 'SCHEDULED' },
    { uuId, total: '1' },
  ]);
  expect(uuid).toMatch(/^\d{19}$/);
  expect(sim.billed()).toBe('0.0000');
  expect(sim.schedules.cancel(uuid)).toBe('done');
  expect(sim.schedules.find(uuid)?.cancelledAt).toBe(NOON);
  sim.reset();
  expect(await list(sim)).toEqual([]);
});
