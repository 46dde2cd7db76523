import { buffer } from 'node:stream/consumers';
import { crc32, inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { GatewaySim } from '../src/index.ts';
import { CREDENTIALS, call, control, send, simulator } from './client.ts';

const NOON = Date.parse('2026-07-17T06:30:00Z');
const NEXT_DAY = NOON + 86_400_000;

const ask = (sim: GatewaySim, date = '2026-07-17') =>
  fetch(`${sim.url}/SMSApi/report/day`, {
    method: 'POST',
    body: new URLSearchParams({ ...CREDENTIALS, output: 'json', date }),
  });

/** The one file of an archive, unpacked by hand: no library that might forgive. */
function unpacked(zip: Buffer): string {
  const entry = zip.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
  const [sum, packed] = [zip.readUInt32LE(entry + 16), zip.readUInt32LE(entry + 20)];
  const start = 30 + zip.readUInt16LE(26) + zip.readUInt16LE(28);
  const contents = inflateRawSync(zip.subarray(start, start + packed));
  expect(crc32(contents)).toBe(sum);
  return contents.toString();
}

async function csv(sim: GatewaySim, date?: string): Promise<string[]> {
  const answer = await ask(sim, date);
  expect(answer.headers.get('content-type')).toBe('application/zip');
  return unpacked(Buffer.from(await answer.arrayBuffer()))
    .split('\r\n')
    .filter((line) => line !== '');
}

test('a day that is over comes as a CSV file in a zip: its rows and no other, ids as text, the texts in it', async () => {
  let now = NOON;
  const sim = await simulator({ now: () => now, failMobile: /8$/ });
  await send(sim, { msg: 'First, with "quotes"' });
  await send(sim, { mobile: '919999999998' });
  now = NEXT_DAY;
  await send(sim, { msg: 'of the day after' });
  now = NEXT_DAY + 86_400_000;
  const [header, first, second, ...rest] = await csv(sim);
  expect(header).toBe(
    'uuId,msgId,mobileNo,senderName,msgType,text,length,cost,Status,Cause,Submitted Time,Delivered Time',
  );
  expect(first).toMatch(
    /^\d{19},\w{15},919999999999,SMSGAT,text,"First, with ""quotes""",1,0.1200,DELIVERED,Success,2026-07-17 12:00:00,2026-07-17 12:00:00$/,
  );
  expect(second).toMatch(/,919999999998,.*,FAILED,[^,]+,2026-07-17 12:00:00,$/);
  expect(rest).toEqual([]);
  expect(await csv(sim, '2026-07-01')).toHaveLength(1);
  expect(sim.calls()).toMatchObject({ dayReport: 2, dayFile: 0 });
});

test('a day that is not over is refused, and so is what is no day, by the invented codes', async () => {
  const sim = await simulator({ now: () => NOON });
  expect(await call(sim, 'report/day', { date: '2026-07-17' })).toMatchObject({ status: 'error', statusCode: '9910' });
  for (const date of ['', '17-07-2026', '2026-02-30'])
    expect(await call(sim, 'report/day', { date })).toMatchObject({ status: 'error', statusCode: '9901' });
  expect(await call(sim, 'report/day', { date: '2026-07-16', password: 'x' })).toMatchObject({ statusCode: '216' });
});

test('given once: the second time the day is empty', async () => {
  let now = NOON;
  const sim = await simulator({ now: () => now });
  await send(sim);
  now = NEXT_DAY;
  sim.dayReports.once = true;
  expect(await csv(sim)).toHaveLength(2);
  expect(await csv(sim)).toHaveLength(1);
});

test('as a link: the answer says where the archive lies', async () => {
  let now = NOON;
  const sim = await simulator({ now: () => now });
  await send(sim);
  now = NEXT_DAY;
  expect(await control(sim, 'day-reports', { asLink: true, next: { fault: 'foreign-link' } })).toEqual({
    httpStatus: 200,
  });
  const link = async () => {
    const { response } = (await (await ask(sim)).json()) as { response: { downloadUrl: string } };
    return response.downloadUrl;
  };
  expect(await link()).toMatch(/^http:\/\/provider\.invalid\//);
  const archive = await fetch(new URL(await link(), sim.url));
  expect(unpacked(Buffer.from(await archive.arrayBuffer()))).toContain('919999999999');
  expect((await fetch(`${sim.url}/SMSApi/report/file/none`)).status).toBe(404);
  expect(sim.calls()).toMatchObject({ dayReport: 2, dayFile: 2 });
});

test('each fault does what it says, once', async () => {
  let now = NOON;
  const sim = await simulator({ now: () => now });
  for (let i = 0; i < 30; i++) await send(sim, { mobile: String(919_999_999_000 + i), msg: `text ${i}` });
  now = NEXT_DAY;
  const whole = Buffer.from(await (await ask(sim)).arrayBuffer());
  const answered = async (fault: Parameters<typeof sim.dayReports.next>[0]) => {
    sim.dayReports.next(fault);
    return ask(sim);
  };
  expect(await (await answered('not-available')).json()).toMatchObject({ statusCode: '9910' });
  expect(await (await answered('unlisted-error')).json()).toMatchObject({ statusCode: '9907' });
  const throttled = await answered('throttle-429');
  expect([throttled.status, throttled.headers.get('retry-after')]).toEqual([429, '1']);
  expect((await answered('http-500')).status).toBe(500);
  expect(await (await answered('html-under-200')).text()).toContain('<html>');
  await expect(answered('reset')).rejects.toThrow();
  const half = Buffer.from(await (await answered('truncated')).arrayBuffer());
  expect(half.length).toBe(Math.floor(whole.length / 2));
  const cut = await answered('cut-off');
  await expect(buffer(cut.body as unknown as AsyncIterable<Buffer>)).rejects.toThrow();
  const wrong = Buffer.from(await (await answered('wrong-checksum')).arrayBuffer());
  expect(() => unpacked(wrong)).toThrow();
  sim.dayReports.next('hold');
  const held = ask(sim);
  await sim.faults.untilHeld();
  sim.faults.release();
  expect((await held).status).toBe(200);
  sim.dayReports.next('bad-rows');
  // Three among the thirty, four at the end.
  expect(await csv(sim)).toHaveLength(31 + 7);
  expect(await csv(sim)).toHaveLength(31);
});
