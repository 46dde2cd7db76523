import { expect, test } from 'vitest';
import { call, dlr, send, simulator } from './client.ts';

const DAY = { fromdate: '2026-07-17', todate: '2026-07-17' };
// 12:00:00 on that day in India.
const NOON = Date.parse('2026-07-17T06:30:00Z');

test('flat rows in lower case under the nested envelope, on both paths', async () => {
  let now = NOON;
  const sim = await simulator({ now: () => now, deliveryMs: { min: 4_000, max: 4_000 }, failMobile: /7$/ });
  const { transactionId = '' } = await send(sim, { mobile: '919999999999,919999999997' });
  expect(await dlr(sim, DAY)).toMatchObject({ count: 2, rows: [{ status: 'SUBMITTED', deliveryTime: '' }, {}] });
  now += 4_000;
  for (const path of ['report', 'reports']) {
    expect(await call(sim, `${path}/status`, { ...DAY, method: 'getDlr', pageLimit: '10' })).toEqual({
      response: {
        api: 'send',
        action: 'getDlr',
        status: 'success',
        msg: 'success',
        code: '200',
        count: 2,
        reports_dlrList: [
          {
            msgId: expect.stringMatching(/^[a-z0-9]{15}$/),
            mobileNo: '919999999999',
            senderName: 'SMSGAT',
            submitTime: '2026-07-17 12:00:00',
            deliveryTime: '2026-07-17 12:00:04',
            status: 'DELIVERED',
            cause: 'Success',
            text: 'Your order is ready',
            uuId: transactionId,
          },
          expect.objectContaining({ mobileNo: '919999999997', status: 'FAILED', deliveryTime: '' }),
        ],
      },
    });
  }
});

test('without transaction ids, and with times in every form', async () => {
  const forms = {
    text: '2026-07-17 12:00:00',
    'long-text': 'July 17, 2026 12:00:00',
    'epoch-ms': String(NOON),
    'epoch-s': String(NOON / 1000),
  } as const;
  for (const [dlrTimes, submitTime] of Object.entries(forms)) {
    const sim = await simulator({ now: () => NOON, dlrTimes: dlrTimes as keyof typeof forms, dlrTxnIds: false });
    await send(sim);
    const { rows } = await dlr(sim, DAY);
    expect(rows[0]).toMatchObject({ submitTime, deliveryTime: submitTime });
    expect(rows[0]).not.toHaveProperty('uuId');
  }
});

test.each([
  ['no fromdate', { todate: '2026-07-17' }],
  ['no todate', { fromdate: '2026-07-17' }],
  ['a day in another form', { fromdate: '17-07-2026', todate: '2026-07-17' }],
  ['a day that does not exist', { fromdate: '2026-02-30', todate: '2026-07-17' }],
  ['the end before the beginning', { fromdate: '2026-07-18', todate: '2026-07-17' }],
  ['no pageLimit', { ...DAY, pageLimit: '' }],
  ['a pageLimit of 0', { ...DAY, pageLimit: '0' }],
  ['a pageLimit above 5000', { ...DAY, pageLimit: '5001' }],
  ['a pageLimit that is no integer', { ...DAY, pageLimit: '1.5' }],
  ['a number that is none', { ...DAY, mobileNo: 'x' }],
  ['a cursor that is none', { ...DAY, startCursor: 'x' }],
])('the invented code 9901 for %s', async (_name, parameters) => {
  const sim = await simulator();
  expect(await call(sim, 'report/status', { method: 'getDlr', pageLimit: '10', ...parameters })).toEqual({
    status: 'error',
    statusCode: '9901',
    reason: expect.any(String),
  });
});

test('days are those of the provider, both included', async () => {
  let now = 0;
  const sim = await simulator({ now: () => now });
  for (const time of ['16T18:29:59', '16T18:30:00', '17T18:29:59', '17T18:30:00']) {
    now = Date.parse(`2026-07-${time}Z`);
    await send(sim, { msg: time });
  }
  const texts = async (days: Record<string, string>) => (await dlr(sim, days)).rows.map(({ text }) => text);
  expect(await texts(DAY)).toEqual(['16T18:30:00', '17T18:29:59']);
  expect(await texts({ fromdate: '2026-07-16', todate: '2026-07-17' })).toHaveLength(3);
  expect(await texts({ fromdate: '2026-07-19', todate: '2026-07-19' })).toEqual([]);
});

test('a wrong zone and a wrong clock move the times and the days', async () => {
  const late = Date.parse('2026-07-16T20:00:00Z');
  const utc = await simulator({ now: () => late, zone: 'UTC' });
  expect(await send(utc)).toMatchObject({ requestTime: '2026-07-16 20:00:00' });
  expect((await dlr(utc, DAY)).rows).toEqual([]);
  expect((await dlr(utc, { ...DAY, fromdate: '2026-07-16' })).rows[0]?.submitTime).toBe('2026-07-16 20:00:00');

  const skewed = await simulator({ now: () => NOON, clockSkewMs: -13 * 3_600_000, dlrTimes: 'epoch-ms' });
  expect(await send(skewed)).toMatchObject({ requestTime: '2026-07-16 23:00:00' });
  expect((await dlr(skewed, DAY)).rows).toEqual([]);
  const [row] = (await dlr(skewed, { ...DAY, fromdate: '2026-07-16' })).rows;
  expect(row?.submitTime).toBe(String(NOON - 13 * 3_600_000));
  await expect(simulator({ zone: 'India' })).rejects.toThrow(RangeError);
});

test('a number is found in each of its forms', async () => {
  const sim = await simulator({ now: () => NOON });
  await send(sim, { mobile: '919999999999,919999999998' });
  await send(sim, { mobile: '09999999999', msg: 'Second' });
  for (const mobileNo of ['9999999999', '09999999999', '919999999999']) {
    const { rows } = await dlr(sim, { ...DAY, mobileNo });
    expect(rows.map(({ text }) => text)).toEqual(['Your order is ready', 'Second']);
  }
  expect((await dlr(sim, { ...DAY, mobileNo: '918888888888' })).rows).toEqual([]);
});

test('pages are full until the last, which has no cursor (paging is invented)', async () => {
  const sim = await simulator({ now: () => NOON });
  for (const msg of ['a', 'b', 'c', 'd']) await send(sim, { msg, mobile: '919999999999,919999999998' });
  for (const filter of [{}, { mobileNo: '919999999998' }]) {
    const texts: string[] = [];
    const sizes: number[] = [];
    for (let startCursor: string | undefined = ''; startCursor !== undefined; ) {
      const page = await dlr(sim, { ...DAY, ...filter, pageLimit: '2', ...(startCursor ? { startCursor } : {}) });
      sizes.push(page.count);
      texts.push(...page.rows.map(({ text = '' }) => text));
      startCursor = page.nextCursor;
    }
    expect(sizes).toEqual('mobileNo' in filter ? [2, 2] : [2, 2, 2, 2]);
    expect(texts.join('')).toBe('mobileNo' in filter ? 'abcd' : 'aabbccdd');
  }
});

test('rows are missing until the lag is over, and again after the retention, in both reports', async () => {
  let now = NOON;
  const sim = await simulator({ now: () => now, visibilityLagMs: 500, retentionDays: 2 });
  const { transactionId = '' } = await send(sim);
  const rows = async () => {
    const byId = (await call(sim, 'report/status', { uuid: transactionId })) as { response: { count: number } };
    return [(await dlr(sim, DAY)).count, byId.response.count];
  };
  expect(await rows()).toEqual([0, 0]);
  now += 500;
  expect(await rows()).toEqual([1, 1]);
  now = NOON + 2 * 86_400_000;
  expect(await rows()).toEqual([0, 0]);
});

/** What this process has computed so far, client and simulator: what others compute on the machine is not in it. */
function workedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

test('among two hundred thousand messages a page and a number are found at once', async () => {
  let now = NOON;
  const sim = await simulator({ now: () => now });
  for (let batch = 0; batch < 200; batch++) {
    const mobile = Array.from({ length: 1000 }, (_, place) => 919_000_000_000 + batch * 1000 + place).join(',');
    await send(sim, { mobile });
    now += 1_000;
  }
  let rows = 0;
  let startCursor: string | undefined;
  const most = { page: 0, number: 0 };
  do {
    const before = workedMs();
    const page: Awaited<ReturnType<typeof dlr>> = await dlr(sim, startCursor ? { ...DAY, startCursor } : DAY);
    most.page = Math.max(most.page, workedMs() - before);
    rows += page.count;
    startCursor = page.nextCursor;
  } while (startCursor !== undefined);
  expect(rows).toBe(200_000);
  await dlr(sim, { ...DAY, mobileNo: '919000000000' });
  for (let index = 0; index < 200; index++) {
    const before = workedMs();
    const { rows } = await dlr(sim, { ...DAY, mobileNo: String(919_000_000_000 + index * 997) });
    most.number = Math.max(most.number, workedMs() - before);
    expect(rows).toHaveLength(1);
  }
  // Generous: a scan of everything for each call would take many times as much.
  expect(most.page).toBeLessThan(3_000);
  expect(most.number).toBeLessThan(1_000);
});
