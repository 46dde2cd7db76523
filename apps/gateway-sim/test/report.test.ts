import { expect, test } from 'vitest';
import { CREDENTIALS, report, send, simulator } from './client.ts';

test('a report has a row a recipient with spaced names and times of India, on both paths', async () => {
  let now = Date.parse('2019-07-12T22:14:00Z');
  const sim = await simulator({ now: () => now, deliveryMs: { min: 48_000, max: 48_000 } });
  const { transactionId = '' } = await send(sim, { mobile: '919999999999,919999999998' });
  expect(await report(sim, transactionId)).toMatchObject([
    { Status: 'SUBMITTED', Cause: 'Submitted', 'Delivered Time': '' },
    { Status: 'SUBMITTED', Cause: 'Submitted', 'Delivered Time': '' },
  ]);
  now += 48_000;
  const rows = await report(sim, transactionId, 'reports');
  expect(rows[0]).toEqual({
    uuId: transactionId,
    msgId: expect.stringMatching(/^[a-z0-9]{15}$/),
    mobileNo: '919999999999',
    senderName: 'SMSGAT',
    msgType: 'text',
    text: 'Your order is ready',
    length: '1',
    cost: '0.1200',
    Status: 'DELIVERED',
    Cause: 'Success',
    'Submitted Time': 'July 13, 2019 03:44:00',
    'Delivered Time': 'July 13, 2019 03:44:48',
  });
  expect(rows[1]?.msgId).not.toBe(rows[0]?.msgId);
});

test('a message fails by its number or by its seeded share, with a cause', async () => {
  const sim = await simulator({ failMobile: /7$/, failCauses: ['Inbox Full'] });
  const { transactionId = '' } = await send(sim, { mobile: '919999999997,919999999998' });
  expect(await report(sim, transactionId)).toMatchObject([
    { Status: 'FAILED', Cause: 'Inbox Full', 'Delivered Time': '' },
    { Status: 'DELIVERED' },
  ]);

  const mobile = Array.from({ length: 400 }, (_, index) => `91${9_000_000_000 + index}`).join(',');
  const outcomes = [];
  for (const seed of [5, 5, 6]) {
    const shared = await simulator({ failShare: 0.25, seed });
    const sent = await send(shared, { mobile });
    outcomes.push((await report(shared, sent.transactionId ?? '')).map((row) => row.Status).join());
  }
  expect(outcomes[1]).toBe(outcomes[0]);
  expect(outcomes[2]).not.toBe(outcomes[0]);
  expect(outcomes[0]?.match(/FAILED/g)?.length).toBeGreaterThan(60);
  expect(outcomes[0]?.match(/FAILED/g)?.length).toBeLessThan(140);
});

test('a message is missing until the visibility lag is over, and an unknown id has no rows', async () => {
  let now = 1_700_000_000_000;
  const sim = await simulator({ now: () => now, visibilityLagMs: 500 });
  const { transactionId = '' } = await send(sim);
  expect(await report(sim, transactionId)).toEqual([]);
  now += 500;
  expect(await report(sim, transactionId)).toHaveLength(1);
  expect(await report(sim, '6305583318236810379')).toEqual([]);
  expect(await report(sim, 'no-id')).toEqual([]);
});

test('the nested envelope, its other list key, and ids without quotes', async () => {
  const sim = await simulator({ listKey: 'reports_statusList', unquotedIds: true });
  const sent = await (
    await fetch(
      `${sim.url}/SMSApi/send?${new URLSearchParams({
        ...CREDENTIALS,
        sendMethod: 'quick',
        mobile: '919999999999',
        msg: 'hi',
        senderid: 'SMSGAT',
        msgType: 'text',
        output: 'json',
      })}`,
    )
  ).text();
  const uuid = /"transactionId":(\d{19})/.exec(sent)?.[1] ?? '';
  const query = new URLSearchParams({ ...CREDENTIALS, uuid, output: 'json' });
  const text = await (await fetch(`${sim.url}/SMSApi/report/status?${query}`)).text();
  expect(text).toContain(
    '{"response":{"api":"send","action":"status","status":"success","msg":"success","code":"200","count":1,"reports_statusList":[{"status":{',
  );
  expect(text).toContain(`"uuId":${uuid},`);
});

test('a report with wrong credentials is a flat error', async () => {
  const sim = await simulator();
  const query = new URLSearchParams({ userid: 'demo', password: 'wrong', uuid: '1', output: 'json' });
  const answer = await fetch(`${sim.url}/SMSApi/report/status?${query}`);
  expect(await answer.json()).toEqual({ status: 'error', statusCode: '216', reason: 'Invalid credentials' });
});
