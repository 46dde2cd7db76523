import { expect, test } from 'vitest';
import type { GatewaySim } from '../src/index.ts';
import { control, dlr, report, send, simulator } from './client.ts';

const START = Date.parse('2026-07-17T06:30:00Z');
const DAY = { fromdate: '2026-07-17', todate: '2026-07-17' };
const A = '919999999991';
const B = '919999999992';

async function started(options: Parameters<typeof simulator>[0] = {}) {
  const clock = { now: START };
  const sim = await simulator({ now: () => clock.now, deliveryMs: { min: 1_000, max: 1_000 }, ...options });
  return { sim, clock };
}

const words = async (sim: GatewaySim, uuid = '') => (await report(sim, uuid)).map(({ Status }) => Status);

test('double-report: a second row with another msgId in both reports, charged once', async () => {
  const { sim } = await started();
  sim.delivery.doubleReport(/1$/);
  const { transactionId = '' } = await send(sim, { mobile: `${A},${B}` });
  const rows = await report(sim, transactionId);
  expect(rows.map(({ mobileNo }) => mobileNo)).toEqual([A, A, B]);
  expect(new Set(rows.map(({ msgId }) => msgId)).size).toBe(3);
  expect((await dlr(sim, DAY)).rows.map(({ msgId }) => msgId)).toEqual(rows.map(({ msgId }) => msgId));
  expect(sim.log.counts().accepted).toBe(2);

  // A page may end between the two rows.
  const first = await dlr(sim, { ...DAY, pageLimit: '1' });
  const second = await dlr(sim, { ...DAY, pageLimit: '1', startCursor: first.nextCursor ?? '' });
  expect([first.rows[0]?.msgId, second.rows[0]?.msgId]).toEqual([rows[0]?.msgId, rows[1]?.msgId]);
});

test('flip: one final word, then the other', async () => {
  const { sim, clock } = await started();
  sim.delivery.flip(/1$/, { afterMs: 5_000 });
  sim.delivery.flip(/2$/, { first: 'FAILED', afterMs: 5_000 });
  const { transactionId } = await send(sim, { mobile: `${A},${B}` });
  expect(await words(sim, transactionId)).toEqual(['SUBMITTED', 'SUBMITTED']);
  clock.now = START + 1_000;
  expect(await words(sim, transactionId)).toEqual(['DELIVERED', 'FAILED']);
  clock.now = START + 5_000;
  expect(await words(sim, transactionId)).toEqual(['FAILED', 'DELIVERED']);
});

test('override: any word, changed and taken back later', async () => {
  const { sim, clock } = await started();
  const { transactionId = '' } = await send(sim, { mobile: `${A},${B}` });
  clock.now += 1_000;
  sim.delivery.override(/1$/, { status: 'PARKED', cause: 'Somewhere' });
  expect(await report(sim, transactionId)).toMatchObject([
    { Status: 'PARKED', Cause: 'Somewhere', 'Delivered Time': '' },
    { Status: 'DELIVERED' },
  ]);
  sim.delivery.override(/1$/, { status: 'FAILED', cause: 'DND' });
  expect((await dlr(sim, DAY)).rows[0]).toMatchObject({ status: 'FAILED', cause: 'DND' });
  sim.delivery.override(/1$/, null);
  expect(await words(sim, transactionId)).toEqual(['DELIVERED', 'DELIVERED']);
});

test('stuck is never final, late is final after its own time', async () => {
  const { sim, clock } = await started();
  sim.delivery.stuck(/1$/);
  sim.delivery.late(/2$/, 60_000);
  const { transactionId } = await send(sim, { mobile: `${A},${B}` });
  clock.now += 59_999;
  expect(await words(sim, transactionId)).toEqual(['SUBMITTED', 'SUBMITTED']);
  clock.now += 1;
  expect(await words(sim, transactionId)).toEqual(['SUBMITTED', 'DELIVERED']);
  sim.delivery.clear();
  expect(await words(sim, transactionId)).toEqual(['DELIVERED', 'DELIVERED']);
});

test('shares are met and repeated by the seed', async () => {
  const mobile = Array.from({ length: 400 }, (_, index) => `91${9_000_000_000 + index}`).join(',');
  const runs: string[] = [];
  for (const seed of [5, 5, 6]) {
    const { sim, clock } = await started({ seed });
    sim.delivery.stuck(0.25);
    const { transactionId } = await send(sim, { mobile });
    clock.now += 1_000;
    runs.push((await words(sim, transactionId)).join());
  }
  expect(runs[1]).toBe(runs[0]);
  expect(runs[2]).not.toBe(runs[0]);
  expect(runs[0]?.match(/SUBMITTED/g)?.length).toBeGreaterThan(60);
  expect(runs[0]?.match(/SUBMITTED/g)?.length).toBeLessThan(140);
  const { sim } = await started();
  expect(() => sim.delivery.stuck(2)).toThrow(RangeError);
});

test('the same over the control endpoint', async () => {
  const { sim, clock } = await started();
  await control(sim, 'delivery', {
    override: { pattern: '1$', said: { status: 'PARKED', cause: '' } },
    late: { which: '2$', ms: 9_000 },
    doubleReport: 1,
  });
  const { transactionId } = await send(sim, { mobile: `${A},${B}` });
  clock.now += 1_000;
  expect(await words(sim, transactionId)).toEqual(['PARKED', 'PARKED', 'SUBMITTED', 'SUBMITTED']);
  await control(sim, 'delivery', { clear: true });
  expect(await words(sim, transactionId)).toEqual(['DELIVERED', 'DELIVERED']);
  expect(await control(sim, 'delivery', { stuck: 2 })).toMatchObject({ httpStatus: 400 });
  expect(await control(sim, 'delivery', { nonsense: 2 })).toMatchObject({ httpStatus: 400 });
});
