import { expect, test } from 'vitest';
import type { GatewaySim, ScheduleFaultName } from '../src/index.ts';
import { CREDENTIALS, call, control, dlr, report, send, simulator } from './client.ts';

// 12:00:00 in India.
const NOON = Date.parse('2026-07-17T06:30:00Z');
const ONE = NOON + 3_600_000;
const AT_ONE = { scheduleTime: '2026-07-17 13:00:00' };
const DAY = { fromdate: '2026-07-17', todate: '2026-07-17' };

/** A simulator that holds one message until one o'clock. */
async function holding(options: Parameters<typeof simulator>[0] = {}) {
  const clock = { now: NOON };
  const sim = await simulator({ now: () => clock.now, ...options });
  const { transactionId: uuid = '' } = await send(sim, AT_ONE);
  return { sim, clock, uuid };
}

type Change = 'update' | 'delete';

/** One update, to two o'clock, or deletion, as it comes back; it is given up with `signal`. */
function change(sim: GatewaySim, action: Change, uuid: string, signal: AbortSignal | null = null): Promise<Response> {
  const body = new URLSearchParams({ ...CREDENTIALS, output: 'json', uuid });
  if (action === 'update') body.set('scheduletime', '2026-07-17 14:00:00');
  return fetch(`${sim.url}/SMSApi/schedule/${action}`, { method: 'POST', body, signal });
}

async function listed(sim: GatewaySim) {
  const { response } = (await call(sim, 'schedule/read')) as {
    response: { count: number; scheduleList: { schedule: Record<string, string> }[] };
  };
  expect(response.count).toBe(response.scheduleList.length);
  return response.scheduleList.map(({ schedule }) => schedule);
}

const UNCHANGED = { status: 'SCHEDULED', scheduledTimestamp: String(ONE), lastupdatedTimestamp: '0' };
const CHANGED = {
  update: { status: 'SCHEDULED', scheduledTimestamp: String(ONE + 3_600_000), lastupdatedTimestamp: String(NOON) },
  delete: { status: 'DELETED', scheduledTimestamp: String(ONE), lastupdatedTimestamp: String(NOON) },
};
const BOTH: Change[] = ['update', 'delete'];

test.each(BOTH)('refuse and http-500 change nothing: %s', async (action) => {
  const { sim, uuid } = await holding();
  sim.schedules.faults.next('refuse', 2);
  sim.schedules.faults.next('http-500');
  for (let time = 0; time < 2; time++) {
    const refused = await change(sim, action, uuid);
    expect(refused.status).toBe(200);
    expect(await refused.json()).toEqual({ status: 'error', statusCode: '9907', reason: expect.any(String) });
  }
  const broken = await change(sim, action, uuid);
  expect(broken.status).toBe(500);
  expect(await broken.text()).toContain('<html>');
  expect(await listed(sim)).toMatchObject([UNCHANGED]);
  expect(await (await change(sim, action, uuid)).json()).toMatchObject({ response: { status: 'success', action } });
  expect(await listed(sim)).toMatchObject([CHANGED[action]]);
});

test.each(BOTH)('done-then-502 has changed it: %s', async (action) => {
  const { sim, uuid } = await holding();
  sim.schedules.faults.next('done-then-502');
  const answer = await change(sim, action, uuid);
  expect(answer.status).toBe(502);
  expect(await answer.text()).toContain('<html>');
  expect(await listed(sim)).toMatchObject([CHANGED[action]]);
});

test.each(BOTH)('done-then-reset has changed it: %s', async (action) => {
  const { sim, uuid } = await holding();
  sim.schedules.faults.next('done-then-reset');
  await expect(change(sim, action, uuid)).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
  expect(await listed(sim)).toMatchObject([CHANGED[action]]);
});

test.each([
  ['update', 'hang-before', UNCHANGED],
  ['delete', 'hang-before', UNCHANGED],
  ['update', 'done-then-hang', CHANGED.update],
  ['delete', 'done-then-hang', CHANGED.delete],
] as const)('%s under %s has no answer until the client goes', async (action, fault, after) => {
  const { sim, uuid } = await holding();
  sim.schedules.faults.next(fault);
  const giveUp = new AbortController();
  const hanging = change(sim, action, uuid, giveUp.signal);
  hanging.catch(() => undefined);
  const name = action === 'update' ? 'scheduleUpdate' : 'scheduleDelete';
  await expect.poll(() => sim.calls()[name]).toBe(1);
  expect(await listed(sim)).toMatchObject([after]);
  expect(sim.activity().openConnections).toBeGreaterThan(0);
  giveUp.abort();
  await expect(hanging).rejects.toThrow();
  expect(await listed(sim)).toMatchObject([after]);
});

test('faults queue up behind one another, concern updates and deletions alike, and no reads', async () => {
  const { sim, uuid } = await holding();
  sim.schedules.faults.next('refuse');
  sim.schedules.faults.next('http-500');
  await listed(sim);
  expect((await change(sim, 'delete', uuid)).status).toBe(200);
  expect((await change(sim, 'update', uuid)).status).toBe(500);
  sim.schedules.faults.next('http-500');
  sim.schedules.faults.clear();
  expect((await change(sim, 'delete', uuid)).status).toBe(200);
  sim.schedules.faults.next('http-500');
  sim.reset();
  expect((await change(sim, 'delete', uuid)).status).toBe(200);
});

test.each(['done-then-502', 'done-then-hang', 'done-then-reset'] as const)(
  'a change that cannot be made is refused as always under %s',
  async (fault: ScheduleFaultName) => {
    const { sim } = await holding();
    sim.schedules.faults.next(fault);
    expect(await (await change(sim, 'delete', '1')).json()).toMatchObject({ statusCode: '9905' });
  },
);

test('the control endpoint scripts faults, dispatches, and refuses what makes no sense', async () => {
  const { sim, uuid } = await holding();
  await control(sim, 'schedules/faults', { next: [{ fault: 'http-500' }, { fault: 'refuse', count: 2 }] });
  expect((await change(sim, 'delete', uuid)).status).toBe(500);
  expect(await (await change(sim, 'delete', uuid)).json()).toMatchObject({ statusCode: '9907' });
  await control(sim, 'schedules/faults', { clear: true });
  for (const nonsense of [{ next: { fault: 'accept-then-hang' } }, { next: { fault: 'refuse', count: 0 } }, { f: 1 }]) {
    expect(await control(sim, 'schedules/faults', nonsense)).toMatchObject({ httpStatus: 400 });
  }
  expect(await control(sim, 'schedules/dispatch', { uuId: uuid })).toEqual({ httpStatus: 200, change: 'done' });
  expect(await control(sim, 'schedules/dispatch', { uuId: uuid })).toMatchObject({ change: 'too-late' });
  expect(await control(sim, 'schedules/dispatch', { uuId: '1' })).toMatchObject({ change: 'unknown' });
  expect(await control(sim, 'schedules/dispatch', {})).toMatchObject({ httpStatus: 400 });
});

test('a dispatched schedule goes out at once, keeps its time in the list, and a change is too late', async () => {
  const { sim, clock, uuid } = await holding({ deliveryMs: { min: 500, max: 500 } });
  clock.now = NOON + 60_000;
  expect(await report(sim, uuid)).toEqual([]);
  expect(sim.schedules.dispatch(uuid)).toBe('done');
  expect(await listed(sim)).toMatchObject([{ ...UNCHANGED, status: 'SENT' }]);
  expect(await report(sim, uuid)).toMatchObject([{ Status: 'SUBMITTED', 'Submitted Time': 'July 17, 2026 12:01:00' }]);
  expect((await dlr(sim, DAY)).rows).toMatchObject([{ submitTime: '2026-07-17 12:01:00' }]);
  for (const action of BOTH) {
    expect(await (await change(sim, action, uuid)).json()).toMatchObject({ statusCode: '9908' });
  }
  clock.now += 500;
  expect(await report(sim, uuid)).toMatchObject([{ Status: 'DELIVERED' }]);
  clock.now = ONE + 3_600_000;
  expect(await report(sim, uuid)).toHaveLength(1);
  expect(sim.billed()).toBe('0.1200');
});

test('a deletion that is held loses the race against the dispatch, and one that is not wins it', async () => {
  const { sim, uuid } = await holding();
  sim.schedules.faults.next('hold-before');
  const late = change(sim, 'delete', uuid);
  await sim.faults.untilHeld();
  expect(sim.schedules.dispatch(uuid)).toBe('done');
  expect(sim.faults.release()).toBe(1);
  expect(await (await late).json()).toMatchObject({ statusCode: '9908' });
  expect(await report(sim, uuid)).toHaveLength(1);

  const { transactionId: other = '' } = await send(sim, AT_ONE);
  sim.schedules.faults.next('hold-before');
  const early = change(sim, 'delete', other);
  await sim.faults.untilHeld();
  sim.faults.release();
  expect(await (await early).json()).toMatchObject({ response: { status: 'success' } });
  expect(sim.schedules.dispatch(other)).toBe('unknown');
  expect(await report(sim, other)).toEqual([]);
});

test('a held deletion is made when its client leaves', async () => {
  const { sim, uuid } = await holding();
  sim.schedules.faults.next('hold-before');
  const giveUp = new AbortController();
  const held = change(sim, 'delete', uuid, giveUp.signal);
  held.catch(() => undefined);
  await sim.faults.untilHeld();
  expect(await listed(sim)).toMatchObject([UNCHANGED]);
  giveUp.abort();
  await expect.poll(() => sim.schedules.find(uuid)?.cancelledAt).toBe(NOON);
});

test.each([
  [false, 1],
  [true, 0],
])('with forgetDeleted %s the list has %i deleted schedules, and none is delivered', async (forgetDeleted, rows) => {
  const { sim, clock, uuid } = await holding({ forgetDeleted });
  await change(sim, 'delete', uuid);
  expect(await listed(sim)).toHaveLength(rows);
  expect((await call(sim, 'schedule/read', { uuid })).response).toMatchObject({ count: rows });
  expect(await (await change(sim, 'delete', uuid)).json()).toMatchObject({ statusCode: '9905' });
  expect(sim.schedules.list()).toMatchObject([{ uuId: uuid, cancelledAt: NOON }]);
  clock.now = ONE + 1;
  expect(await report(sim, uuid)).toEqual([]);
  expect((await dlr(sim, DAY)).rows).toEqual([]);
});
