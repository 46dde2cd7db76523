import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSmsGatewayCenter, PUSH_RECORD_LIMIT, type PushRequest } from '../src/index.ts';
import { BODY, PASSWORD, TXN, USERID } from './support/sending.ts';

const ADAPTER = createSmsGatewayCenter({
  baseUrl: 'http://provider.invalid',
  userid: USERID,
  password: PASSWORD,
  extraStatusWords: { 'errorcode 27': 'failed', 'handset off': 'failed' },
});
const ZONE = 'Asia/Kolkata';

function pushed(body: string, changes: Partial<PushRequest> = {}) {
  const push = { contentType: null, query: new URLSearchParams(), body: Buffer.from(body), ...changes };
  return ADAPTER.readPush(push, ZONE);
}

function recordOf(fields: Record<string, unknown>) {
  const answer = pushed(JSON.stringify({ Messageid: 'm1', ...fields }));
  if (answer.kind !== 'records') throw new Error(answer.detail);
  const [record] = answer.records;
  return record;
}

const PORTAL = {
  Transactionid: TXN,
  Messageid: '8466326473775335661',
  ErrorCode: '0',
  MobileNumber: '919999999999',
  ReceivedTime: '2026-07-17 00:20:09',
  DeliveredTime: '2026-07-17 00:20:15',
};
const RELATIVE = {
  transId: TXN,
  msgId: '8466326473775335661',
  errorCode: 0,
  dlrTime: 1_784_227_815_000,
  mobile: '9999999999',
};
const COMMON = {
  providerTxnId: TXN,
  providerMessageId: '8466326473775335661',
  recipient: '919999999999',
  status: 'delivered',
  statusWord: 'ErrorCode 0',
  deliveredAt: new Date('2026-07-16T18:50:15.000Z'),
};

describe('a push', () => {
  const form = new URLSearchParams(PORTAL);
  it.each([
    ['JSON', pushed(JSON.stringify(PORTAL))],
    ['JSON of the relative', pushed(JSON.stringify(RELATIVE))],
    ['JSON with unquoted ids', pushed(JSON.stringify(PORTAL).replaceAll(/"(\d{19})"/g, '$1'))],
    [
      'JSON that calls itself a form',
      pushed(JSON.stringify(PORTAL), { contentType: 'application/x-www-form-urlencoded' }),
    ],
    ['a list', pushed(JSON.stringify([PORTAL]))],
    ['a form', pushed(form.toString(), { contentType: 'application/x-www-form-urlencoded' })],
    ['a form that calls itself JSON', pushed(form.toString(), { contentType: 'application/json' })],
    ['a query', pushed('', { query: form })],
    ['a query beside an empty object', pushed('{}', { query: form })],
    ['other letter cases', pushed(JSON.stringify({ ...lowerCase(PORTAL), UUID: TXN }))],
  ])('is read from %s', (_, answer) => {
    expect(answer).toMatchObject({ kind: 'records', records: [COMMON] });
  });

  it('keeps its fields as evidence, without texts and secrets', () => {
    const record = recordOf({
      ...PORTAL,
      text: BODY,
      Message: BODY,
      remark: BODY,
      token: 't0ken',
      key: 'k3y',
      circle: 'DL',
      x: { y: BODY },
    });
    expect(record?.evidence).toEqual({ ...PORTAL, remark: '[withheld]', circle: 'DL', x: '[withheld]' });
  });

  it.each([
    [{ ErrorCode: '0' }, 'delivered', 'ErrorCode 0'],
    [{ ErrorCode: '000' }, 'delivered', 'ErrorCode 0'],
    [{ ErrorCode: '' }, 'delivered', 'ErrorCode 0'],
    [{ ErrorCode: 0 }, 'delivered', 'ErrorCode 0'],
    [{ ErrorCode: '27' }, 'failed', 'ErrorCode 27'],
    [{ ErrorCode: '28', DeliveredTime: '2026-07-17 00:20:15' }, 'unmapped', 'ErrorCode 28'],
    [{ ErrorCode: null }, 'open', null],
    [{ DeliveredTime: '2026-07-17 00:20:15' }, 'open', null],
    [{ status: 'DELIVRD' }, 'delivered', 'DELIVRD'],
    [{ Status: 'FAILED', DeliveredTime: '2026-07-17 00:20:15' }, 'failed', 'FAILED'],
    [{ status: 'Submitted', errorCode: '0' }, 'open', 'Submitted'],
    [{ status: 'DELIVRD', errorCode: '28' }, 'unmapped', 'DELIVRD'],
    [{ status: 'DELIVRD', cause: 'Absent Subscriber' }, 'unmapped', 'DELIVRD'],
    [{ status: 'Handset  off' }, 'failed', 'Handset  off'],
    [{ status: 'never seen', errorCode: '0' }, 'unmapped', 'never seen'],
  ] as const)('with %j is %s by the word %j', (fields, status, statusWord) => {
    expect(recordOf(fields)).toMatchObject({ status, statusWord });
    if (statusWord !== null && !('errorCode' in fields)) {
      const cause = 'cause' in fields ? fields.cause : null;
      expect(ADAPTER.judgeStatus(statusWord, cause).status).toBe(status);
    }
  });

  it('is read up to a number of records', () => {
    const many = Array.from({ length: PUSH_RECORD_LIMIT + 1 }, (_, n) => ({ msgId: `m${n}` }));
    const answer = pushed(JSON.stringify(many));
    expect(answer.kind === 'records' && answer.records.length).toBe(PUSH_RECORD_LIMIT);
  });

  it('loses only the records that name nothing', () => {
    const answer = pushed(JSON.stringify([{ ErrorCode: '0' }, 'x', null, { mobile: '9999999999' }]));
    expect(answer).toMatchObject({ kind: 'records', records: [{ recipient: '919999999999' }] });
  });

  it.each([
    '',
    '{}',
    '[]',
    'null',
    '0',
    '<xml/>',
    '{"Messageid":"0"}',
    '{"Messageid":{"a":1}}',
    'a=b',
    ' '.repeat(2 ** 21),
  ])('of %j is unreadable', (body) => {
    const answer = pushed(body.slice(0, 2 ** 21));
    expect(answer.kind).toBe('unreadable');
  });

  const value = fc.oneof(fc.constantFrom(TXN, '0', '', '919999999999', 'DELIVRD', BODY), fc.jsonValue());
  const name = fc.oneof(
    fc.constantFrom('msgId', 'Transactionid', 'mobileNo', 'ERRORCODE', 'status', '__proto__', 'text'),
    fc.string(),
  );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 500 }),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    fc.json().map((text) => Buffer.from(text)),
    fc.array(fc.dictionary(name, value)).map((rows) => Buffer.from(JSON.stringify(rows))),
    fc.array(fc.tuple(fc.string(), fc.string())).map((pairs) => Buffer.from(new URLSearchParams(pairs).toString())),
  );
  const contentType = fc.option(
    fc.oneof(fc.constantFrom('application/json', 'text/plain', 'multipart/form-data'), fc.string()),
  );
  const query = fc.array(fc.tuple(name, fc.string())).map((pairs) => new URLSearchParams(pairs));

  it('of any bytes, content type, query and zone is an answer, bounded and storable', () => {
    fc.assert(
      fc.property(
        bytes,
        contentType,
        query,
        fc.constantFrom(ZONE, 'UTC', 'Mars/Olympus', ''),
        (body, type, given, zone) => {
          const answer = ADAPTER.readPush({ contentType: type, query: given, body }, zone);
          if (answer.kind === 'unreadable') {
            expect(answer.detail).toBe('no record with an id or a number');
            return;
          }
          expect(answer.records.length).toBeGreaterThan(0);
          for (const record of answer.records) {
            expect(record.providerTxnId ?? record.providerMessageId ?? record.recipient).not.toBeNull();
            const stored = JSON.stringify(record);
            expect(stored).not.toContain('\\u0000');
            expect(stored).not.toContain(`"text":`);
            expect(stored.length).toBeLessThan(50_000);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

function lowerCase(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key.toLowerCase(), field]));
}
