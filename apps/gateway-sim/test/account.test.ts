import { expect, test } from 'vitest';
import { call, control, dlr, report, send, simulator } from './client.ts';

const account = async (sim: Parameters<typeof call>[0]) =>
  ((await call(sim, 'account/readstatus')) as { response: { account: Record<string, unknown> } }).response.account;

test('the balance falls with each charge and can be set', async () => {
  const sim = await simulator({ pricePerSegment: '0.25', balance: '1' });
  expect(await account(sim)).toMatchObject({ smsBalance: '1.0000', userCreditType: '2' });
  await send(sim, { mobile: '919999999999,919999999998' });
  expect(await account(sim)).toMatchObject({ smsBalance: '0.5000' });
  sim.account.setBalance('0.3');
  await send(sim);
  expect(sim.account.balance).toBe('0.0500');
  expect(await send(sim)).toMatchObject({ statusCode: '9902' });
  expect(await control(sim, 'account', { balance: null })).toEqual({ httpStatus: 200, balance: null });
  expect(await send(sim)).toMatchObject({ status: 'success' });
  expect(await control(sim, 'account', { balance: '-1' })).toMatchObject({ httpStatus: 400 });
  expect(sim.billed()).toBe('1.0000');
  sim.reset();
  expect(sim.account.balance).toBe('1.0000');
});

test('broken credentials make every call answer 216', async () => {
  const sim = await simulator();
  sim.account.breakCredentials(true);
  const answers = [
    await send(sim),
    await call(sim, 'report/status', { uuid: '1' }),
    await call(sim, 'report/status', { method: 'getDlr' }),
    await call(sim, 'account/readstatus'),
    await call(sim, 'schedule/read'),
    await call(sim, 'schedule/delete', { uuid: '1' }),
  ];
  for (const answer of answers) {
    expect(answer).toEqual({ status: 'error', statusCode: '216', reason: 'Invalid credentials' });
  }
  await control(sim, 'account', { breakCredentials: false });
  expect(await send(sim)).toMatchObject({ status: 'success' });
});

test('calls are counted by endpoint, also when an outage answers them', async () => {
  const sim = await simulator();
  const { transactionId = '' } = await send(sim);
  await report(sim, transactionId);
  await report(sim, transactionId);
  await dlr(sim, { fromdate: '2026-07-17', todate: '2026-07-17' });
  await call(sim, 'schedule/read');
  await call(sim, 'schedule/update', { uuid: '1' });
  sim.faults.outage = 'http-500';
  await fetch(`${sim.url}/SMSApi/account/readstatus`);
  const expected = {
    send: 1,
    reportByTransaction: 2,
    getDlr: 1,
    readstatus: 1,
    scheduleRead: 1,
    scheduleUpdate: 1,
    scheduleDelete: 0,
    dayReport: 0,
    dayFile: 0,
    schedules: 2,
  };
  expect(sim.calls()).toEqual(expected);
  expect(await control(sim, 'summary')).toMatchObject({ calls: expected });
  sim.reset();
  expect(sim.calls().send).toBe(0);
});

test('the bill of one number names transaction, time and charge', async () => {
  const at = Date.parse('2026-07-17T06:30:00Z');
  const sim = await simulator({ now: () => at, pricePerSegment: '0.2' });
  const first = await send(sim);
  await send(sim, { mobile: '919999999998' });
  const second = await send(sim, { mobile: '09999999999', msg: 'x'.repeat(161) });
  const bill = sim.log.accepted({ mobile: '9999999999' });
  expect(bill).toMatchObject([
    { transactionId: first.transactionId, charge: '0.2000', acceptedAt: '2026-07-17T06:30:00.000Z', units: 1 },
    { transactionId: second.transactionId, charge: '0.4000', units: 2 },
  ]);
  expect((await control(sim, 'accepted?mobile=9999999999')).messages).toEqual(bill);
  expect(sim.log.accepted({ mobile: '918888888888' })).toEqual([]);
  expect(sim.billed()).toBe('0.8000');
});
