import { describe, expect, test } from 'vitest';
import { CREDENTIALS, control, post, send, sendForm, simulator } from './client.ts';

test('a send answers flat JSON with one quoted 19-digit id, msgId empty and requestTime', async () => {
  const sim = await simulator({ now: () => Date.parse('2026-07-16T18:50:09Z') });
  const answer = await send(sim);
  expect(answer).toEqual({
    status: 'success',
    mobile: '919999999999',
    invalidMobile: '',
    transactionId: expect.stringMatching(/^[1-9]\d{18}$/),
    statusCode: '200',
    reason: 'success',
    msgId: '',
    requestTime: '2026-07-17 00:20:09',
  });
});

test('without output=json the answer is plain, joined with " | "', async () => {
  const sim = await simulator();
  const text = await (await post(sim, { output: undefined })).text();
  expect(text).toMatch(/^success \| 919999999999 \| {2}\| \d{19} \| 200 \| success \| /);
  const error = await (await post(sim, { output: undefined, password: 'wrong' })).text();
  expect(error).toBe('error | 216 | Invalid credentials');
});

test('GET, the query string, a JSON body and /index.php?url= reach the same call', async () => {
  const sim = await simulator();
  const answers = await Promise.all([
    fetch(`${sim.url}/SMSApi/send?${sendForm()}`),
    fetch(`${sim.url}/index.php?url=SMSApi/send&${sendForm()}`),
    fetch(`${sim.url}/SMSApi/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...Object.fromEntries(sendForm()), mobile: ['919999999999', '919999999998'] }),
    }),
  ]);
  for (const answer of answers) expect(await answer.json()).toMatchObject({ status: 'success' });
  expect(sim.log.counts().accepted).toBe(4);
});

describe('errors come as HTTP 200 and accept nothing', () => {
  const cases: [string, Record<string, string | undefined>, string][] = [
    ['a wrong password', { password: 'wrong' }, '216'],
    ['a missing userid', { userid: undefined }, '216'],
    ['userid in the wrong spelling', { userid: undefined, userId: 'demo' }, '216'],
    ['an empty testMessage', { testMessage: '' }, '147'],
    ['a duplicatecheck that is no boolean', { duplicatecheck: '1' }, '147'],
    ['a character beyond ASCII as text', { msg: 'naïve' }, '171'],
    ['a missing text (invented code)', { msg: undefined }, '9901'],
    ['a schedule in the past (invented code)', { scheduleTime: '2020-01-01 00:00:00' }, '9901'],
    ['a schedule that is no time (invented code)', { scheduleTime: '2030-01-01' }, '9901'],
  ];
  test.each(cases)('%s', async (_name, change, statusCode) => {
    const sim = await simulator();
    const answer = await post(sim, change);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ status: 'error', statusCode, reason: expect.any(String) });
    expect(sim.log.counts()).toMatchObject({ requests: 1, accepted: 0, refused: 1, billed: '0.0000' });
  });

  test('a body that cannot be read', async () => {
    const sim = await simulator();
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${sim.url}/SMSApi/send`, { method: 'POST', headers, body: '{"userid":' });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ status: 'error', statusCode: '9901' });
  });
});

test('the API key header needs the userid with it', async () => {
  const sim = await simulator();
  const call = async (change: Record<string, string | undefined>) => {
    const options = { method: 'POST', body: sendForm({ password: undefined, ...change }) };
    const answer = await fetch(`${sim.url}/SMSApi/send`, { ...options, headers: { apiKey: 'demokey' } });
    return ((await answer.json()) as { statusCode: string }).statusCode;
  };
  expect(await call({})).toBe('200');
  expect(await call({ userid: undefined })).toBe('216');
});

test('JSON comes as text/html unless switched', async () => {
  expect((await post(await simulator())).headers.get('content-type')).toContain('text/html');
  expect((await post(await simulator({ jsonAsHtml: false }))).headers.get('content-type')).toContain(
    'application/json',
  );
});

test('ids and codes without quotes, and no extras, when switched', async () => {
  const sim = await simulator({ unquotedIds: true, unquotedCodes: true, sendExtras: false });
  expect(await (await post(sim)).text()).toMatch(
    /^\{"status":"success","mobile":"919999999999","invalidMobile":"","transactionId":\d{19},"statusCode":200,"reason":"success"\}$/,
  );
});

test('duplicatecheck drops repeats inside one request only, in whatever form they are written', async () => {
  const sim = await simulator();
  const mobile = '919999999999,9999999999,09999999999,919999999998';
  expect((await send(sim, { mobile })).mobile).toBe('919999999999,919999999998');
  await send(sim, { mobile, duplicatecheck: 'false' });
  expect(sim.log.copies('919999999999', 'Your order is ready')).toBe(4);
  expect(sim.log.copies('9999999998', 'Your order is ready')).toBe(2);
});

test('invalid numbers come back inside a success, are not charged, and as they were sent', async () => {
  const sim = await simulator({ invalidMobile: /^9180/, pricePerSegment: '0.1' });
  const answer = await send(sim, { mobile: '8000000001,919999999999,abc' });
  expect(answer).toMatchObject({ status: 'success', mobile: '919999999999', invalidMobile: '8000000001,abc' });
  expect(sim.log.counts()).toMatchObject({ accepted: 1, invalid: 2, billed: '0.1000' });
  const canonical = await simulator({ invalidMobile: /^9180/, invalidMobileForm: 'canonical' });
  expect(await send(canonical, { mobile: '8000000001' })).toMatchObject({ mobile: '', invalidMobile: '918000000001' });
});

test('each copy is charged by segment, exactly', async () => {
  const sim = await simulator({ pricePerSegment: '0.1001' });
  await send(sim, { msg: 'x'.repeat(161), mobile: '919999999999,919999999998,919999999997' });
  await send(sim, { msg: 'अ'.repeat(71), msgType: 'unicode' });
  expect(sim.log.counts()).toMatchObject({ accepted: 4, units: 8, billed: '0.8008' });
});

test('a send that the balance does not cover is refused; the account call shows what is left', async () => {
  const sim = await simulator({ pricePerSegment: '1', balance: '2.5' });
  expect((await send(sim, { mobile: '919999999999,919999999998' })).status).toBe('success');
  expect(await send(sim)).toMatchObject({ status: 'error', statusCode: '9902' });
  const query = new URLSearchParams({ ...CREDENTIALS, output: 'json' });
  const account = await (await fetch(`${sim.url}/SMSApi/account/readstatus?${query}`)).json();
  expect(account).toMatchObject({ response: { status: 'success', account: { smsBalance: '0.5000' } } });
});

test('a test message is answered and neither sent nor charged', async () => {
  const sim = await simulator();
  expect((await send(sim, { testMessage: 'true' })).status).toBe('success');
  expect(sim.log.counts()).toMatchObject({ accepted: 0, billed: '0.0000' });
});

test('an unknown path is an HTML 404', async () => {
  const answer = await fetch(`${(await simulator()).url}/SMSApi/nothing`);
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain('<html>');
});

test('the control endpoints know what was accepted', async () => {
  const sim = await simulator({ pricePerSegment: '0.25' });
  await send(sim);
  await send(sim);
  const { transactionId } = await send(sim, { mobile: '919999999998', msg: 'Other & more' });
  expect(
    await control(sim, `copies?${new URLSearchParams({ mobile: '9999999999', msg: 'Your order is ready' })}`),
  ).toEqual({ httpStatus: 200, copies: 2 });
  expect(await control(sim, 'copies?mobile=919999999999&msg=never')).toMatchObject({ copies: 0 });
  expect(await control(sim, 'duplicates')).toMatchObject({
    pairs: 1,
    extraCopies: 1,
    list: [{ mobile: '919999999999', copies: 2, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
  });
  expect(await control(sim, 'summary')).toMatchObject({
    requests: 3,
    accepted: 3,
    refused: 0,
    distinct: 2,
    duplicates: 1,
    billed: '0.7500',
    currency: 'INR',
    units: 3,
  });
  const page = await control(sim, 'accepted?after=2&limit=10');
  expect(page).toMatchObject({ next: 3, messages: [{ number: 3, mobile: '919999999998', transactionId, units: 1 }] });
  expect(await control(sim, 'accepted?after=3')).toMatchObject({ messages: [], next: 3 });
  expect(await control(sim, 'accepted?after=x')).toMatchObject({ httpStatus: 400 });
  await control(sim, 'reset', {});
  expect(await control(sim, 'summary')).toMatchObject({ requests: 0, accepted: 0, billed: '0.0000' });
});
