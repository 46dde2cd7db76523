import { describe, expect, it } from 'vitest';
import { startProvider } from './support/provider-server.ts';
import { adapterFor, BODY, TXN } from './support/sending.ts';

async function reportOf(body: string, expected = 1, status = 200) {
  const server = await startProvider((_, response) => {
    response.writeHead(status);
    response.end(body);
  });
  const answer = await adapterFor(server.url).reportByTransaction(TXN, expected);
  return { answer, request: server.requests[0] };
}

function nested(list: unknown, name = 'report_statusList', extra: Record<string, unknown> = {}): string {
  return JSON.stringify({
    response: { api: 'send', action: 'status', status: 'success', code: '200', [name]: list, ...extra },
  });
}

const ROW = {
  uuId: TXN,
  msgId: 'QudUrwhMuIGkbs2',
  mobileNo: '919999999999',
  senderName: 'SMSGAT',
  Status: ' FAILED ',
  Cause: 'Unknown User',
  'Submitted Time': 'July 13, 2019 03:44:48',
  'Delivered Time': '',
  length: 1,
  cost: '0.10',
  text: BODY,
  msgText: '123456',
  remark: 'a whole sentence',
  circle: 'DL',
};

describe('the report of one request', () => {
  it('asks by the id at the configured path', async () => {
    const { request } = await reportOf(nested([]));
    expect(request?.path).toBe('/SMSApi/report/status');
    expect(request?.form.get('uuid')).toBe(TXN);
  });

  it('reads a row in full and drops its text', async () => {
    const { answer } = await reportOf(nested([{ status: ROW }], 'report_statusList', { count: 1 }));
    expect(answer).toEqual({
      kind: 'records',
      rowCount: 1,
      declaredCount: 1,
      unreadableRows: 0,
      foreignRows: 0,
      coversAll: true,
      records: [
        {
          providerTxnId: TXN,
          providerMessageId: 'QudUrwhMuIGkbs2',
          recipient: '919999999999',
          senderId: 'SMSGAT',
          statusWord: 'FAILED',
          status: 'failed',
          cause: 'Unknown User',
          causeClass: 'unknown_number',
          submittedAt: new Date('2019-07-12T22:14:48.000Z'),
          deliveredAt: null,
          evidence: {
            uuId: TXN,
            msgId: 'QudUrwhMuIGkbs2',
            mobileNo: '919999999999',
            senderName: 'SMSGAT',
            Status: 'FAILED',
            Cause: 'Unknown User',
            'Submitted Time': 'July 13, 2019 03:44:48',
            'Delivered Time': '',
            length: '1',
            cost: '0.10',
            remark: '[withheld]',
            circle: 'DL',
          },
        },
      ],
    });
  });

  const small = {
    uuid: TXN,
    mobileNo: '9999999999',
    status: 'DELIVRD',
    cause: 'Success',
    deliveryTime: '1562974594713',
  };
  it.each([
    ['wrapped rows', nested([{ status: small }])],
    ['the other spelling of the list', nested([{ status: small }], 'reports_statusList')],
    ['flat rows', nested([small])],
    ['an object around a list', nested({ DLRReport: [small] })],
    ['a single wrapped row', nested({ status: small })],
  ])('reads %s', async (_, body) => {
    const { answer } = await reportOf(body);
    expect(answer).toMatchObject({
      kind: 'records',
      coversAll: true,
      records: [{ recipient: '919999999999', status: 'delivered', deliveredAt: new Date(1_562_974_594_713) }],
    });
  });

  it('keeps an unquoted message id of 19 digits', async () => {
    const { answer } = await reportOf(
      nested([{ status: { ...small, msgId: 1 } }]).replace('"msgId":1', '"msgId":8466326473775335661'),
    );
    expect(answer).toMatchObject({ records: [{ providerMessageId: '8466326473775335661' }] });
  });

  it('does not call an empty or short list complete', async () => {
    expect((await reportOf(nested([]))).answer).toMatchObject({ kind: 'records', records: [], coversAll: false });
    expect((await reportOf(nested([small, small]), 2)).answer).toMatchObject({ rowCount: 2, coversAll: false });
  });

  it('sets apart rows of another request and rows that are none', async () => {
    const { answer } = await reportOf(nested([small, { ...small, uuid: '77' }, 'x', {}]));
    expect(answer).toMatchObject({ rowCount: 4, foreignRows: 1, unreadableRows: 2, coversAll: false });
    expect(answer).toMatchObject({ records: [{ providerTxnId: TXN }] });
  });

  it.each([
    ['an error', '{"status":"error","statusCode":"216"}', 200],
    ['no list', '{"response":{"status":"success","code":"200"}}', 200],
    ['HTML', '<html>', 200],
    ['a server error', nested([small]), 502],
  ])('is unavailable after %s', async (_, body, status) => {
    expect((await reportOf(body, 1, status)).answer).toMatchObject({ kind: 'unavailable' });
  });

  it('reads local times in the zone of the route, else in its own', async () => {
    const server = await startProvider((_, response) => response.end(nested([{ status: ROW }])));
    const adapter = adapterFor(server.url, {}, {}, { zone: 'Europe/Berlin' });
    const submitted = async (zone?: string) => {
      const answer = await adapter.reportByTransaction(TXN, 1, zone);
      return answer.kind === 'records' ? answer.records[0]?.submittedAt?.toISOString() : answer;
    };
    expect(await submitted('UTC')).toBe('2019-07-13T03:44:48.000Z');
    expect(await submitted()).toBe('2019-07-13T01:44:48.000Z');
    expect(await submitted('Mars/Olympus')).toEqual({ kind: 'unavailable', detail: 'the zone is not an IANA zone' });
  });

  it('honours words that people have mapped, and can judge them again afterwards', async () => {
    const row = { ...small, status: 'Handset Off', cause: 'Handset Off' };
    const server = await startProvider((_, response) => response.end(nested([row])));
    const before = adapterFor(server.url);
    expect(await before.reportByTransaction(TXN, 1)).toMatchObject({
      records: [{ status: 'unmapped', causeClass: 'unknown' }],
    });
    const after = adapterFor(server.url, {}, {}, { extraStatusWords: { 'HANDSET OFF': 'failed' } });
    const known = { status: 'failed', causeClass: 'handset_off' };
    expect(await after.reportByTransaction(TXN, 1)).toMatchObject({ records: [known] });
    expect(after.judgeStatus('Handset Off', 'Handset Off')).toEqual(known);
    expect(before.judgeStatus('Handset Off', null)).toEqual({ status: 'unmapped', causeClass: 'none' });
    expect(before.judgeStatus('', null)).toEqual({ status: 'unmapped', causeClass: 'none' });
  });

  it('is unavailable without a real id, and asks nobody', async () => {
    const answer = await adapterFor('http://127.0.0.1:1').reportByTransaction('0', 1);
    expect(answer).toEqual({ kind: 'unavailable', detail: 'no transaction id to ask for' });
  });

  it('is unavailable when the provider cannot be reached', async () => {
    const answer = await adapterFor('http://provider.invalid').reportByTransaction(TXN, 1);
    expect(answer.kind).toBe('unavailable');
  });
});
