import { describe, expect, it } from 'vitest';
import { type SmsGatewayCenterOptions, scheduleStateOf } from '../src/index.ts';
import { startProvider } from './support/provider-server.ts';
import { adapterFor, PASSWORD, TXN, USERID } from './support/sending.ts';

async function schedulesOf(response: Record<string, unknown> | string, options: Partial<SmsGatewayCenterOptions> = {}) {
  const server = await startProvider((_, reply) => {
    reply.end(
      typeof response === 'string'
        ? response
        : JSON.stringify({ response: { status: 'success', code: '200', ...response } }),
    );
  });
  return { answer: await adapterFor(server.url, {}, {}, options).heldSchedules(), requests: server.requests };
}

const ROW = {
  uuId: TXN,
  status: ' Scheduled ',
  total: '12',
  timestamp: '1700117933163',
  scheduledTimestamp: '1700121533163',
  lastupdatedTimestamp: '0',
};
const HELD = {
  providerTxnId: TXN,
  scheduledFor: new Date(1_700_121_533_163),
  createdAt: new Date(1_700_117_933_163),
  updatedAt: null,
  statusWord: 'Scheduled',
  state: 'waiting',
  total: 12,
};

describe('what the provider holds for later', () => {
  it('is asked for with credentials and the form of the answer only', async () => {
    const { requests } = await schedulesOf({ scheduleList: [] });
    expect(requests[0]?.path).toBe('/SMSApi/schedule/read');
    expect(Object.fromEntries(requests[0]?.form ?? [])).toEqual({ output: 'json', userid: USERID, password: PASSWORD });
  });

  it.each([
    ['wrapped', { scheduleList: [{ schedule: ROW }], count: 1 }],
    ['flat', { scheduleList: [ROW] }],
    ['under another name', { anyList: [{ campaign: ROW }] }],
  ])('is read: %s', async (_, response) => {
    expect((await schedulesOf(response)).answer).toEqual({ kind: 'schedules', schedules: [HELD], unreadableRows: 0 });
  });

  it('keeps an unquoted id to the last digit', async () => {
    const body = JSON.stringify({ response: { status: 'success', scheduleList: [ROW] } });
    const { answer } = await schedulesOf(body.replace(`"${TXN}"`, TXN));
    expect(answer).toMatchObject({ schedules: [{ providerTxnId: TXN }] });
  });

  it('has no time, word or total where there is none', async () => {
    const { answer } = await schedulesOf({ scheduleList: [{ uuId: TXN, scheduledTimestamp: '0', total: 'many' }] });
    const nothing = { scheduledFor: null, createdAt: null, updatedAt: null, statusWord: null, total: null };
    expect(answer).toMatchObject({ schedules: [{ ...nothing, state: 'unknown' }] });
  });

  it('says when it was made and last changed, quoted or not, and "0" is never', async () => {
    const changed = { ...ROW, lastupdatedTimestamp: 1_700_118_000_000 };
    const { answer } = await schedulesOf({ scheduleList: [changed, { ...ROW, timestamp: '0' }] });
    expect(answer).toMatchObject({
      schedules: [
        { createdAt: new Date(1_700_117_933_163), updatedAt: new Date(1_700_118_000_000) },
        { createdAt: null, updatedAt: null },
      ],
    });
  });

  it('has the state that its word was mapped to, before the one that is guessed', async () => {
    const scheduleList = ['In queue', 'sent', 'DELETED', 'gone'].map((status) => ({ ...ROW, status }));
    const extraScheduleWords = { ' in  QUEUE': 'waiting', SENT: 'waiting', Gone: 'sent' } as const;
    expect((await schedulesOf({ scheduleList }, { extraScheduleWords })).answer).toMatchObject({
      schedules: [{ state: 'waiting' }, { state: 'waiting' }, { state: 'cancelled' }, { state: 'sent' }],
    });
  });

  it('counts elements without an id', async () => {
    const { answer } = await schedulesOf({
      scheduleList: [ROW, { schedule: { status: 'x' } }, { uuId: '0' }, 'x', {}],
    });
    expect(answer).toEqual({ kind: 'schedules', schedules: [HELD], unreadableRows: 4 });
  });

  it.each([[{ scheduleList: [] }], [{ scheduleList: '' }]])('may be nothing: %j', async (response) => {
    expect((await schedulesOf(response)).answer).toEqual({ kind: 'schedules', schedules: [], unreadableRows: 0 });
  });

  it.each([
    ['an error', '{"status":"error","statusCode":"216"}'],
    ['no list', {}],
    ['fewer than declared', { scheduleList: [ROW], count: 2 }],
    ['HTML', '<html>'],
  ])('is unavailable after %s', async (_, response) => {
    expect((await schedulesOf(response)).answer.kind).toBe('unavailable');
  });

  it('is unavailable when nobody is there', async () => {
    expect((await adapterFor('http://127.0.0.1:1').heldSchedules()).kind).toBe('unavailable');
  });
});

describe('the word of a schedule', () => {
  it.each([
    [['SCHEDULED', ' Scheduled ', 'pending'], 'waiting'],
    [['DELETED', 'Cancelled', 'CANCELED'], 'cancelled'],
    [['SENT', 'Dispatched', 'COMPLETED'], 'sent'],
    [['', '0', '1', 'success', 'ACTIVE', 'UNSCHEDULED', 'toString', '__proto__', null], 'unknown'],
  ] as const)('%j means %s', (words, state) => {
    for (const word of words) expect(scheduleStateOf(word)).toBe(state);
  });
});
