import { describe, expect, it } from 'vitest';
import type { DaysQuestion, ProviderRecord, SmsGatewayCenterOptions } from '../src/index.ts';
import { startProvider } from './support/provider-server.ts';
import { adapterFor, BODY, PASSWORD, TXN, USERID } from './support/sending.ts';

const QUESTION: DaysQuestion = {
  fromDay: '2026-07-16',
  toDay: '2026-07-17',
  recipient: null,
  zone: 'Asia/Kolkata',
};

const row = (n: number, changes: Record<string, unknown> = {}) => ({
  msgId: `m${n}`,
  mobileNo: `${919999990000 + n}`,
  senderName: 'SMSGAT',
  submitTime: '2026-07-17 00:20:09',
  deliveryTime: '',
  status: 'DELIVRD',
  cause: 'Success',
  text: BODY,
  ...changes,
});

type Page = Record<string, unknown>;
const listed = (rows: readonly unknown[], more: Page = {}): Page => ({ reports_dlrList: rows, ...more });

/** Reads QUESTION from a provider that answers with these pages, one after the other, and with the last for ever. */
async function read(
  pages: readonly (Page | string)[],
  options: Partial<SmsGatewayCenterOptions> = {},
  question: DaysQuestion = QUESTION,
) {
  let at = 0;
  const server = await startProvider((_, response) => {
    const page = pages[Math.min(at, pages.length - 1)];
    at += 1;
    response.end(
      typeof page === 'string' ? page : JSON.stringify({ response: { status: 'success', code: '200', ...page } }),
    );
  });
  const given: ProviderRecord[][] = [];
  const adapter = adapterFor(server.url, {}, {}, { reportPageLimit: 2, ...options });
  const answer = await adapter.reportByDays(question, (records) => given.push([...records]));
  return { answer, given, forms: server.requests.map((request) => Object.fromEntries(request.form)), server };
}

describe('the report by days', () => {
  it('asks for whole days, for everybody, and follows the cursor', async () => {
    const { forms, server, given, answer } = await read([
      listed([row(1), row(2)], { nextCursor: '8466326473775335661' }),
      listed([row(3)], { nextCursor: '' }),
    ]);
    const first = {
      output: 'json',
      userid: USERID,
      password: PASSWORD,
      method: 'getDlr',
      fromdate: '2026-07-16',
      todate: '2026-07-17',
      pageLimit: '2',
    };
    expect(forms).toEqual([first, { ...first, startCursor: '8466326473775335661' }]);
    expect(server.requests[0]?.path).toBe('/SMSApi/report/status');
    expect(given.map((page) => page.map((record) => record.providerMessageId))).toEqual([['m1', 'm2'], ['m3']]);
    expect(answer).toEqual({
      kind: 'read',
      complete: true,
      pages: 2,
      records: 3,
      unreadableRows: 0,
      incompleteBecause: null,
    });
  });

  it('asks for one recipient and in the configured path and page length', async () => {
    const options = { reportPageLimit: 500, reportPath: '/SMSApi/reports/status' };
    const { forms, server } = await read([listed([])], options, { ...QUESTION, recipient: '919999999999' });
    expect(forms[0]).toMatchObject({ mobileNo: '919999999999', pageLimit: '500' });
    expect(server.requests[0]?.path).toBe('/SMSApi/reports/status');
  });

  it('keeps an unquoted cursor of 19 digits to the last digit', async () => {
    const first = JSON.stringify({
      response: { status: 'success', code: '200', ...listed([row(1)], { nextCursor: 1 }) },
    });
    const { forms } = await read([first.replace('"nextCursor":1', '"nextCursor":8466326473775335661'), listed([])]);
    expect(forms[1]?.startCursor).toBe('8466326473775335661');
  });

  it('reads a row in full, drops its text, and reads its times in the zone it was told', async () => {
    const { given } = await read([listed([row(1, { uuId: TXN })])], {}, { ...QUESTION, zone: 'UTC' });
    expect(given[0]).toEqual([
      {
        providerTxnId: TXN,
        providerMessageId: 'm1',
        recipient: '919999990001',
        senderId: 'SMSGAT',
        statusWord: 'DELIVRD',
        status: 'delivered',
        cause: 'Success',
        causeClass: 'delivered',
        submittedAt: new Date('2026-07-17T00:20:09Z'),
        deliveredAt: null,
        evidence: {
          uuId: TXN,
          msgId: 'm1',
          mobileNo: '919999990001',
          senderName: 'SMSGAT',
          submitTime: '2026-07-17 00:20:09',
          deliveryTime: '',
          status: 'DELIVRD',
          cause: 'Success',
        },
      },
    ]);
  });

  it.each([
    ['1562974594713', '2019-07-12T23:36:34.713Z'],
    ['1562974594', '2019-07-12T23:36:34.000Z'],
    ['July 13, 2019 05:06:34', '2019-07-12T23:36:34.000Z'],
    ['2019-07-13 05:06:34', '2019-07-12T23:36:34.000Z'],
  ])('reads the time %s, in whose zone only text is', async (submitTime, instant) => {
    const { given } = await read([listed([row(1, { submitTime })])]);
    expect(given[0]?.[0]?.submittedAt?.toISOString()).toBe(instant);
  });

  it.each([
    ['wrapped rows under the other list', { report_statusList: [{ status: row(1, { Status: 'FAILED' }) }] }],
    ['an object around a list', { reports_dlrList: { DLRReport: [row(1)] } }],
  ])('reads %s', async (_, page) => {
    const { given, answer } = await read([page]);
    expect(given[0]).toMatchObject([{ providerMessageId: 'm1' }]);
    expect(answer).toMatchObject({ complete: true });
  });

  it.each([
    ['an empty list', [listed([])]],
    ['a short page', [listed([row(1)], { count: 1 })]],
    [
      'a short page that only repeats that there is no cursor',
      [listed([row(1)], { nextCursor: '0', startCursor: '77' })],
    ],
    ['a full page and then an empty one', [listed([row(1), row(2)], { startCursor: 'a' }), listed([])]],
  ] as const)('is complete after %s', async (_, pages) => {
    expect((await read(pages)).answer).toMatchObject({ kind: 'read', complete: true, incompleteBecause: null });
  });

  it.each([
    ['a full page without a cursor', [listed([row(1), row(2)])], 'the last page is full and names no next one'],
    [
      'more rows than a page may have',
      [listed([row(1), row(2), row(3)])],
      'the last page is full and names no next one',
    ],
    ['a row that is none', [listed([row(1), 'x'], { nextCursor: 'a' }), listed([])], 'a row is not readable'],
    ['another count', [listed([row(1)], { count: 7 })], 'a page holds another number of rows than it declares'],
    [
      'a count that is none',
      [listed([row(1)], { count: 'some' })],
      'a page holds another number of rows than it declares',
    ],
    [
      'a cursor that comes twice',
      [listed([row(1)], { nextCursor: 'a' }), listed([row(2)], { nextCursor: 'a' })],
      'a cursor came twice',
    ],
    ['a cursor that is an object', [listed([row(1)], { nextCursor: { id: 1 } })], 'a cursor is not readable'],
    [
      'a page that comes twice',
      [listed([row(1)], { nextCursor: 'a' }), listed([row(1)], { nextCursor: 'b' })],
      'a page came twice',
    ],
    [
      'a cursor under another name',
      [listed([row(1)], { cursorId: '77' })],
      'a page speaks of more in a field that nobody has mapped',
    ],
    [
      'a word that there is more',
      [listed([row(1)], { hasMore: true })],
      'a page speaks of more in a field that nobody has mapped',
    ],
  ] as const)('is not complete after %s', async (_, pages, incompleteBecause) => {
    const { answer } = await read(pages);
    expect(answer).toMatchObject({ kind: 'read', complete: false, incompleteBecause });
  });

  it('counts what it could not read, and gives the rest', async () => {
    const { answer, given } = await read([listed([row(1), {}, 'x'])], { reportPageLimit: 10 });
    expect(answer).toMatchObject({ complete: false, records: 1, unreadableRows: 2 });
    expect(given).toHaveLength(1);
  });

  it('ends after as many pages as it may read', async () => {
    let n = 0;
    const server = await startProvider((_, response) => {
      n += 1;
      response.end(
        JSON.stringify({ response: { status: 'success', code: '200', ...listed([row(n)], { nextCursor: `c${n}` }) } }),
      );
    });
    const adapter = adapterFor(server.url, {}, {}, { reportMaxPages: 3 });
    const answer = await adapter.reportByDays(QUESTION, () => {});
    expect(answer).toMatchObject({ complete: false, pages: 3, records: 3, incompleteBecause: 'more than 3 pages' });
    expect(server.requests).toHaveLength(3);
  });

  it.each([
    ['an error', '{"status":"error","statusCode":"216","reason":"Invalid credentials"}'],
    ['HTML', '<html>'],
    ['a success without a list', { other: [] }],
    ['a page that is cut off', '{"response":{"status":"success","reports_dlrList":['],
  ] as const)('is unavailable after %s on a later page, whatever came before', async (_, second) => {
    const { answer, given } = await read([listed([row(1), row(2)], { nextCursor: 'a' }), second]);
    expect(answer.kind).toBe('unavailable');
    expect(given).toHaveLength(1);
  });

  it.each([
    { fromDay: '2026-7-1' },
    { fromDay: '2026-02-30' },
    { fromDay: '2026-07-18' },
    { recipient: '+919999999999' },
    { zone: 'Mars/Olympus' },
  ])('asks nobody for %j', async (changes) => {
    const { answer, forms } = await read([listed([])], {}, { ...QUESTION, ...changes });
    expect(answer.kind).toBe('unavailable');
    expect(forms).toHaveLength(0);
  });

  it('is unavailable when it is aborted or nobody is there', async () => {
    const nobody = adapterFor('http://127.0.0.1:1');
    expect((await nobody.reportByDays(QUESTION, () => {})).kind).toBe('unavailable');
    const server = await startProvider(() => {});
    const stopped = adapterFor(server.url).reportByDays(QUESTION, () => {}, AbortSignal.timeout(50));
    expect((await stopped).kind).toBe('unavailable');
  });

  it('does not hide a fault of its caller', async () => {
    const server = await startProvider((_, response) => {
      response.end(JSON.stringify({ response: { status: 'success', code: '200', ...listed([row(1)]) } }));
    });
    const fault = new Error('no room');
    const answer = adapterFor(server.url).reportByDays(QUESTION, () => {
      throw fault;
    });
    await expect(answer).rejects.toBe(fault);
  });
});
