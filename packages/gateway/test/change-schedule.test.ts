import { describe, expect, it } from 'vitest';
import type { Adapter, ScheduleChangeAnswer, SmsGatewayCenterOptions } from '../src/index.ts';
import { startFullListener } from './support/full-listener.ts';
import { closedPort, hasWholeRequest, startProvider, startRawServer } from './support/provider-server.ts';
import { refusal } from './support/replies.ts';
import { API_KEY, adapterFor, PASSWORD, TXN, USERID } from './support/sending.ts';

const AT = new Date('2026-07-17T06:30:00Z');

type Change = (adapter: Adapter, signal?: AbortSignal) => Promise<ScheduleChangeAnswer>;

const CHANGES: readonly (readonly [string, Change])[] = [
  ['a cancellation', (adapter, signal) => adapter.cancelSchedule(TXN, signal)],
  ['a move', (adapter, signal) => adapter.moveSchedule(TXN, AT, null, signal)],
];

const nested = (changes: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify({
    response: {
      api: 'schedule',
      action: 'delete',
      status: 'success',
      msg: 'success',
      code: '200',
      count: 1,
      ...changes,
    },
  });

/** What one change is answered by a provider that reads it whole and says this. */
async function answered(
  change: Change,
  body: string | Buffer,
  { status = 200, headers = {}, options = {} }: Circumstances = {},
) {
  const server = await startProvider((_, response) => {
    response.writeHead(status, headers);
    response.end(body);
  });
  const answer = await change(adapterFor(server.url, {}, {}, options));
  expect(server.requests).toHaveLength(1);
  return answer;
}

interface Circumstances {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly options?: Partial<SmsGatewayCenterOptions>;
}

const reply = (name: string, body: string, more: Circumstances = {}) => ({ name, body, more });
const error = (name: string, body: string, expected: object, more: Circumstances = {}) => ({
  ...reply(name, body, more),
  expected,
});

describe('the request', () => {
  async function requestOf(change: Change, options: Partial<SmsGatewayCenterOptions> = {}) {
    const server = await startProvider((_, response) => response.end(nested()));
    expect((await change(adapterFor(server.url, {}, {}, options))).kind).toBe('done');
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests;
    const form = Object.fromEntries(request?.form ?? []);
    return { method: request?.method, path: request?.path, headers: request?.headers, form };
  }

  it('to cancel names the transaction', async () => {
    expect(await requestOf((adapter) => adapter.cancelSchedule(TXN))).toMatchObject({
      method: 'POST',
      path: '/SMSApi/schedule/delete',
      form: { output: 'json', userid: USERID, password: PASSWORD, uuid: TXN },
    });
  });

  it('to move is a POST with the new time, with seconds and without a capital T', async () => {
    const { method, path, form } = await requestOf((adapter) => adapter.moveSchedule(TXN, AT, null));
    expect({ method, path }).toEqual({ method: 'POST', path: '/SMSApi/schedule/update' });
    expect(form).toEqual({
      output: 'json',
      userid: USERID,
      password: PASSWORD,
      uuid: TXN,
      scheduletime: '2026-07-17 12:00:00',
    });
  });

  it.each([
    ['Asia/Kolkata', '2026-07-17T06:29:59.001Z', '2026-07-17 12:00:00'],
    ['Europe/Berlin', '2026-03-29T00:59:59.5Z', '2026-03-29 03:00:00'],
    ['Europe/Berlin', '2026-10-25T02:00:00Z', '2026-10-25 03:00:00'],
    ['America/New_York', '2026-11-01T07:00:00Z', '2026-11-01 02:00:00'],
  ])('to move says the time in the zone it is told: %s', async (zone, at, text) => {
    const { form } = await requestOf((adapter) => adapter.moveSchedule(TXN, new Date(at), zone));
    expect(form.scheduletime).toBe(text);
  });

  it('to move says it in the adapter’s zone without another', async () => {
    const { form } = await requestOf((adapter) => adapter.moveSchedule(TXN, AT, null), { zone: 'UTC' });
    expect(form.scheduletime).toBe('2026-07-17 06:30:00');
  });

  it.each(CHANGES)('of %s carries a key in a header, and the user id with it', async (_, change) => {
    const { headers, form } = await requestOf(change, { password: undefined, apiKey: API_KEY });
    expect(headers?.apikey).toBe(API_KEY);
    expect(form).toMatchObject({ userid: USERID });
    expect(form).not.toHaveProperty('password');
  });

  it.each([
    [
      'a move to an hour that the zone has twice',
      (a) => a.moveSchedule(TXN, new Date('2026-10-25T00:30:00Z'), 'Europe/Berlin'),
    ],
    ['a move in no zone', (a) => a.moveSchedule(TXN, AT, 'Mars/Olympus')],
    ['a move to no time', (a) => a.moveSchedule(TXN, new Date(Number.NaN), null)],
    ['a move beyond four digits of a year', (a) => a.moveSchedule(TXN, new Date('+010000-01-02T00:00:00Z'), null)],
    ['a move of nothing', (a) => a.moveSchedule('0', AT, null)],
    ['a cancellation of nothing', (a) => a.cancelSchedule(' ')],
  ] as readonly (readonly [string, Change])[])('is not made for %s: refused by us', async (_, change) => {
    const server = await startProvider((_request, response) => response.end(nested()));
    const answer = await change(adapterFor(server.url));
    expect(answer).toEqual({ kind: 'refused', statusCode: null, reason: expect.any(String), scope: null });
    expect(server.requests).toHaveLength(0);
  });
});

describe.each(CHANGES)('%s', (_, change) => {
  it.each([
    reply('nested', nested()),
    reply('nested, code as a number', nested({ code: 200 })),
    reply('nested, without a count', nested({ count: undefined })),
    reply('flat', '{"status":"success","statusCode":"200","reason":"success"}'),
    reply('naming the transaction', nested({ uuId: TXN })),
    reply('naming it without quotes', nested({ uuId: TXN }).replace(`"${TXN}"`, TXN)),
    reply('under text/html', nested(), { headers: { 'content-type': 'text/html' } }),
    reply('under HTTP 201', nested(), { status: 201 }),
  ])('is done after a success: $name', async ({ body, more }) => {
    const answer = await answered(change, body, more);
    expect(answer).toEqual({ kind: 'done', raw: expect.any(Uint8Array) });
    if (answer.kind === 'done') expect(Buffer.from(answer.raw).toString()).toBe(body);
  });

  it('keeps of a success no credential', async () => {
    const answer = await answered(change, nested({ userid: USERID, note: `for ${PASSWORD}` }));
    const raw = answer.kind === 'done' ? Buffer.from(answer.raw).toString() : '';
    expect(raw).toContain('"note":"for [redacted]"');
    expect(raw).not.toContain(USERID);
  });

  it.each([
    error('of a code nobody knows', refusal('9908', { reason: 'too late' }), {
      statusCode: '9908',
      reason: 'too late',
      scope: null,
    }),
    error('nested', nested({ status: 'error', code: 991, msg: 'no such id' }), {
      statusCode: '991',
      reason: 'no such id',
      scope: null,
    }),
    error('naming the transaction', refusal('9908', { uuid: TXN }), {
      statusCode: '9908',
      reason: 'words',
      scope: null,
    }),
    error('about the account', refusal('216', { reason: 'Invalid credentials' }), {
      statusCode: '216',
      reason: 'Invalid credentials',
      scope: 'account',
    }),
    error('whose code means something for sends only', refusal('171'), {
      statusCode: '171',
      reason: 'words',
      scope: null,
    }),
    error('without words', refusal('9908', { reason: undefined }), { statusCode: '9908', reason: null, scope: null }),
    error('with a credential in it', refusal('9908', { reason: `not ${USERID}` }), {
      statusCode: '9908',
      reason: 'not [redacted]',
      scope: null,
    }),
    error('under HTTP 400', refusal('9908'), { statusCode: '9908', reason: 'words', scope: null }, { status: 400 }),
    error('under HTTP 429', refusal('9904'), { statusCode: '9904', reason: 'words', scope: null }, { status: 429 }),
    error(
      'mapped as the account’s',
      refusal('301'),
      { statusCode: '301', reason: 'words', scope: 'account' },
      { options: { extraCodes: { '301': 'account' } } },
    ),
  ])('is refused by an error $name', async ({ body, expected, more }) => {
    expect(await answered(change, body, more)).toEqual({ kind: 'refused', ...expected });
  });

  it.each([
    reply('plain text', 'success | success | 200'),
    reply('an HTML page', '<html><h1>502 Bad Gateway</h1></html>'),
    reply('an HTML page under HTTP 404', '<html><h1>404 Not Found</h1></html>', { status: 404 }),
    reply('an HTML page under HTTP 500', '<html><h1>500</h1></html>', { status: 500 }),
    reply('a success under HTTP 500', nested(), { status: 500 }),
    reply('a refusal under HTTP 503', refusal('9908'), { status: 503 }),
    reply('nothing', ''),
    reply('no content', '', { status: 204 }),
    reply('half of a success', nested().slice(0, -1)),
    reply('a success without a code', nested({ code: undefined })),
    reply('a success with another code', nested({ code: '201' })),
    reply('a success that counts nothing', nested({ count: '0' })),
    reply('a success that counts nothing, as a number', nested({ count: 0 })),
    reply('a success that names another transaction', nested({ uuId: '5718742519829975000' })),
    reply('a success whose id lost its last digits', nested({ uuId: TXN }).replace(`"${TXN}"`, '6305583318236810000')),
    reply(
      'a success inside of an error',
      JSON.stringify({ status: 'error', response: { status: 'success', code: '200' } }),
    ),
    reply('two codes', JSON.stringify({ status: 'success', statusCode: '200', code: '9908' })),
    reply('a status that is neither', nested({ status: 'queued' })),
    reply('a list', `[${nested()}]`),
    reply('an error without a code', refusal(undefined)),
    reply('an error with the code of success', refusal('200')),
    reply('an error that names another transaction', refusal('9908', { uuid: '5718742519829975000' })),
    reply('a redirect', '', { status: 302, headers: { location: '/elsewhere' } }),
    reply('a redirect that keeps the method', '', { status: 307, headers: { location: '/elsewhere' } }),
    reply('a refusal under HTTP 302', refusal('9908'), { status: 302 }),
    reply('a refusal under HTTP 408', refusal('9908'), { status: 408 }),
    reply('a refusal under HTTP 409', refusal('9908'), { status: 409 }),
    reply('a success under HTTP 400', nested(), { status: 400 }),
  ])('is ambiguous after $name', async ({ body, more }) => {
    expect(await answered(change, body, more)).toEqual({ kind: 'ambiguous', detail: expect.any(String) });
  });

  it('was not sent when nobody is there', async () => {
    const detail = 'phase connect, ECONNREFUSED';
    expect(await change(adapterFor(`http://127.0.0.1:${await closedPort()}`))).toEqual({ kind: 'not_sent', detail });
  });

  it('was not sent when the name does not resolve', async () => {
    expect(await change(adapterFor('http://provider.invalid'))).toMatchObject({ kind: 'not_sent' });
  });

  it('was not sent when the connection is not made in time', async () => {
    const { port } = await startFullListener();
    expect(await change(adapterFor(`http://127.0.0.1:${port}`, { connect: 60 }))).toMatchObject({ kind: 'not_sent' });
  });

  it('was not sent when it is given up beforehand', async () => {
    const server = await startRawServer();
    expect(await change(adapterFor(server.url), AbortSignal.abort())).toMatchObject({ kind: 'not_sent' });
    expect(server.bytes()).toBe(0);
  });

  it('is ambiguous when no answer comes, and is not asked again', async () => {
    let whole = 0;
    const server = await startRawServer({ onData: (__, seen) => (whole += hasWholeRequest(seen) ? 1 : 0) });
    const answer = await change(adapterFor(server.url, { response: 200 }));
    expect(answer).toEqual({ kind: 'ambiguous', detail: 'phase open, ETIMEDOUT, time-out response' });
    await server.closed(1);
    expect({ whole, connections: server.transcripts().length }).toEqual({ whole: 1, connections: 1 });
  });

  it('is ambiguous when it is given up while the answer is waited for', async () => {
    const giveUp = new AbortController();
    const server = await startRawServer({ onData: (__, seen) => hasWholeRequest(seen) && giveUp.abort() });
    expect(await change(adapterFor(server.url), giveUp.signal)).toMatchObject({ kind: 'ambiguous' });
  });

  it.each([
    ['reset', (socket: { resetAndDestroy(): void; end(): void }) => socket.resetAndDestroy()],
    ['closed', (socket: { resetAndDestroy(): void; end(): void }) => socket.end()],
  ])('is ambiguous when the connection is %s without an answer', async (__, end) => {
    const server = await startRawServer({ onData: (socket, seen) => hasWholeRequest(seen) && end(socket) });
    expect(await change(adapterFor(server.url))).toMatchObject({ kind: 'ambiguous' });
    expect(server.transcripts()).toHaveLength(1);
  });

  it('is ambiguous when the answer is cut off after any byte but the last', async () => {
    const body = nested();
    const reply = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    let sent = 0;
    const server = await startRawServer({
      onData: (socket, seen) => hasWholeRequest(seen) && socket.end(reply.slice(0, sent)),
    });
    const adapter = adapterFor(server.url);
    for (sent = 0; sent < reply.length; sent += 7)
      expect({ sent, kind: (await change(adapter)).kind }).toEqual({ sent, kind: 'ambiguous' });
    sent = reply.length - 1;
    expect((await change(adapter)).kind).toBe('ambiguous');
    sent = reply.length;
    expect((await change(adapter)).kind).toBe('done');
  });

  it('is ambiguous when the answer is longer than its limit', async () => {
    const server = await startProvider((__, response) => response.end('x'.repeat(100_000)));
    expect(await change(adapterFor(server.url, {}, { maxBodyBytes: 10_000 }))).toMatchObject({ kind: 'ambiguous' });
  });

  it('is ambiguous when the transport itself breaks its promise not to throw', async () => {
    const transport = {
      post: () => Promise.reject(new Error(PASSWORD)),
      download: () => Promise.reject(new Error('not here')),
      close: () => {},
    };
    const answer = await change(adapterFor('http://127.0.0.1:1', {}, {}, { transport }));
    expect(answer).toMatchObject({ kind: 'ambiguous' });
    expect(JSON.stringify(answer)).not.toContain(PASSWORD);
  });
});
