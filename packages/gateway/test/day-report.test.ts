import { readdirSync } from 'node:fs';
import type http from 'node:http';
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import type { DayAnswer, DayReportLimits, DayRows, ProviderRecord, SmsGatewayCenterOptions } from '../src/index.ts';
import { archive, overlapping, withFact } from './support/archives.ts';
import { type Answer, type ProviderServer, startProvider } from './support/provider-server.ts';
import { refusal, success } from './support/replies.ts';
import { adapterFor, PASSWORD, TXN } from './support/sending.ts';

const QUESTION = { day: '2026-07-17', zone: 'Asia/Kolkata' };
const HEADER = 'uuId,msgId,mobileNo,senderName,msgType,text,length,cost,Status,Cause,Submitted Time,Delivered Time';
const CODE = 'Your code is 482910';

const line = (i: number, changes: Readonly<Record<string, string>> = {}) =>
  Object.values({
    ...{ uuId: TXN, msgId: `QudUrwhMuIGkb${i}`, mobileNo: String(919_999_999_000 + i), senderName: 'SMSGAT' },
    ...{ msgType: 'text', text: CODE, length: '1', cost: '0.1200', Status: 'DELIVERED', Cause: 'Success' },
    ...{ 'Submitted Time': '2026-07-17 12:00:00', 'Delivered Time': '2026-07-17 12:00:05' },
    ...changes,
  }).join(',');

const file = (...lines: string[]) => `${[HEADER, ...lines].join('\r\n')}\r\n`;

interface Seen {
  readonly answer: DayAnswer;
  readonly records: readonly ProviderRecord[];
  readonly bad: DayRows['bad'];
  readonly fetched: readonly number[];
  readonly server: ProviderServer;
}

async function readFrom(
  answer: Answer,
  limits: Partial<DayReportLimits> = {},
  options: Partial<SmsGatewayCenterOptions> = {},
): Promise<Seen> {
  const server = await startProvider(answer);
  const parts: DayRows[] = [];
  const fetched: number[] = [];
  const adapter = adapterFor(server.url, {}, {}, { dayReport: limits, ...options });
  const result = await adapter.dayReport(QUESTION, {
    onFetched: (bytes) => void fetched.push(bytes),
    onRows: async (rows) => void parts.push(rows),
  });
  return {
    answer: result,
    records: parts.flatMap(({ records }) => records),
    bad: parts.flatMap(({ bad }) => bad),
    fetched,
    server,
  };
}

const gives = (body: Buffer | string, status = 200, headers: http.OutgoingHttpHeaders = {}): Answer => {
  return (_, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
};

describe('a day report', () => {
  test('is one call, and its rows are records like those of any report, without their text', async () => {
    const zip = await archive({
      'dlr.csv': file(line(1), line(2, { Status: 'FAILED', Cause: 'DND', 'Delivered Time': '' })),
    });
    const { answer, records, bad, fetched, server } = await readFrom(gives(zip));
    expect(answer).toMatchObject({
      kind: 'read',
      rows: 2,
      records: 2,
      badRows: 0,
      bytes: zip.length,
      unmappedColumns: [],
    });
    expect(fetched).toEqual([zip.length]);
    expect(bad).toEqual([]);
    expect(records).toMatchObject([
      {
        providerTxnId: TXN,
        providerMessageId: 'QudUrwhMuIGkb1',
        recipient: '919999999001',
        senderId: 'SMSGAT',
        statusWord: 'DELIVERED',
        status: 'delivered',
        submittedAt: new Date('2026-07-17T06:30:00Z'),
        deliveredAt: new Date('2026-07-17T06:30:05Z'),
      },
      { recipient: '919999999002', status: 'failed', causeClass: 'dnd', deliveredAt: null },
    ]);
    expect(JSON.stringify(records)).not.toContain('482910');
    const [asked] = server.requests;
    expect(server.requests).toHaveLength(1);
    expect(asked).toMatchObject({ path: '/SMSApi/report/day', method: 'POST' });
    expect(Object.fromEntries(asked?.form ?? [])).toMatchObject({ output: 'json', date: '2026-07-17' });
  });

  test('comes in parts, whose reader is waited for, and what the reader throws comes out', async () => {
    const zip = await archive({ 'dlr.csv': file(...Array.from({ length: 1_201 }, (_, i) => line(i))) });
    const server = await startProvider(gives(zip));
    const adapter = adapterFor(server.url);
    const sizes: number[] = [];
    let busy = false;
    await adapter.dayReport(QUESTION, {
      onFetched: () => undefined,
      onRows: async ({ records }) => {
        expect(busy).toBe(false);
        busy = true;
        sizes.push(records.length);
        await new Promise((resolve) => setImmediate(resolve));
        busy = false;
      },
    });
    expect(sizes).toEqual([500, 500, 201]);
    const own = new Error('the lease is lost');
    const throwing = { onFetched: () => undefined, onRows: () => Promise.reject(own) };
    await expect(adapter.dayReport(QUESTION, throwing)).rejects.toBe(own);
    const early = { onFetched: () => Promise.reject(own), onRows: async () => undefined };
    await expect(adapter.dayReport(QUESTION, early)).rejects.toBe(own);
  });

  test('may be several files, in folders or not, named as it likes; folders are none', async () => {
    const zip = await archive({
      'reports/': '',
      'reports/a.csv': file(line(1)),
      'CON.csv': file(line(2)),
      'empty.txt': '',
      b: `\uFEFF${file(line(3))}`,
    });
    // A name that would leave the folder, were it ever used as one.
    const hostile = Buffer.from(zip.toString('latin1').replaceAll('reports/a.csv', '../../../a.cs'), 'latin1');
    for (const body of [zip, hostile]) {
      const { answer, records } = await readFrom(gives(body));
      expect(answer).toMatchObject({ kind: 'read', rows: 3, badRows: 0 });
      expect(records.map(({ recipient }) => recipient)).toEqual(['919999999001', '919999999002', '919999999003']);
    }
  });

  test('of a day without messages is read, and holds nothing', async () => {
    for (const files of [{}, { 'dlr.csv': '' }, { 'dlr.csv': file() }])
      expect((await readFrom(gives(await archive(files)))).answer).toMatchObject({ kind: 'read', rows: 0, records: 0 });
  });

  test('bad rows cost themselves: each is counted, said why, and kept without what may be a text', async () => {
    const rows = [
      line(1),
      '1,2,3',
      `"open,${line(2)}`,
      line(3),
      `${line(4)},one more`,
      `${line(5)},, `,
      line(6, { uuId: TXN, msgId: '0', mobileNo: 'null' }),
      line(7, { text: '"quoted, with a comma and a ""quote"""' }),
      line(8, { text: 'x'.repeat(70_000) }),
      line(9, { text: 'a "stray" quote' }),
      line(10),
    ];
    const { answer, records, bad } = await readFrom(
      gives(await archive({ a: 'not a header\r\n1,2\r\n', b: file(...rows) })),
    );
    expect(answer).toMatchObject({ kind: 'read', rows: 12, records: 4, badRows: 8 });
    expect(records.map(({ recipient }) => recipient?.slice(-2))).toEqual(['01', '03', '07', '10']);
    expect(bad.map(({ file, line, reason }) => [file, line, reason])).toEqual([
      [1, 1, 'no_header'],
      [2, 3, 'wrong_columns'],
      [2, 4, expect.stringMatching(/quote/)],
      [2, 6, 'wrong_columns'],
      [2, 7, 'wrong_columns'],
      [2, 8, 'names_nobody'],
      [2, 10, 'row_too_long'],
      [2, 11, 'stray_quote'],
    ]);
    expect(bad.find(({ reason }) => reason === 'names_nobody')?.evidence).toMatchObject({
      uuId: TXN,
      Status: 'DELIVERED',
    });
    expect(JSON.stringify(bad)).not.toMatch(/482910|xxxx|comma|stray"|one more/);
  });

  test('a text with a comma that is not quoted moves what follows it by one: such a row is no record, whatever its last field', async () => {
    const rows = ['2026-07-17 12:00:05', '', ' '].map((delivered, i) =>
      line(i, { text: 'Your code, 482910 is secret', 'Delivered Time': delivered }),
    );
    const { answer, records, bad } = await readFrom(gives(await archive({ a: file(...rows) })));
    expect(answer).toMatchObject({ kind: 'read', rows: 3, records: 0, badRows: 3 });
    expect(records).toEqual([]);
    expect(bad.map(({ reason, evidence }) => [reason, evidence])).toEqual(rows.map(() => ['wrong_columns', {}]));
  });

  test('columns that nobody has mapped are named, and their values dropped', async () => {
    const csv = `Mobile Number,Status,Circle,SMS Text\r\n9999999001,DELIVERED,4711,${CODE}\r\n`;
    const { answer, records } = await readFrom(gives(await archive({ a: csv })));
    expect(answer).toMatchObject({ kind: 'read', records: 1, unmappedColumns: ['Circle'] });
    expect(records[0]?.evidence).toEqual({ mobileNo: '9999999001', Status: 'DELIVERED' });
  });

  test('nothing of an answer is left on the disk', async () => {
    const own = () => readdirSync(tmpdir()).filter((name) => name.startsWith('sendledger-day-'));
    const server = await startProvider(gives(await archive({ a: file(line(1)) })));
    let during: string[] | undefined;
    await adapterFor(server.url).dayReport(QUESTION, {
      onFetched: () => undefined,
      onRows: async () => {
        during = own();
      },
    });
    // Its name is gone before its rows are read, so that it goes with a process that is killed.
    expect(during).toEqual([]);
  });
});

const LIMITS: DayReportLimits = {
  maxBytes: 20_000,
  maxUnpackedBytes: 100_000,
  maxRatio: 50,
  maxFiles: 3,
  maxRowCharacters: 1_000,
};
const zeros = (bytes: number) => Buffer.alloc(bytes, 'a');
const noise = (bytes: number) =>
  Buffer.from(Array.from({ length: bytes }, (_, i) => (i * 7_919 + (i >> 3) * 104_729) & 0xff));
const some = file(...Array.from({ length: 50 }, (_, i) => line(i)));

/** Each: what is given, and what the answer says. Every limit is exceeded by itself. */
const UNREADABLE: readonly (readonly [string, () => Promise<Buffer | string>, RegExp])[] = [
  ['longer than its limit', () => archive({ a: noise(21_000) }, { compress: false }), /longer than 20000 bytes/],
  [
    'more unpacked bytes than the limit',
    () => archive({ a: some, b: zeros(101_000) }),
    /more than 100000 bytes|more than 50 times/,
  ],
  ['a bomb: more than the ratio', () => archive({ a: zeros(90_000) }), /more than 50 times its size/],
  [
    'a bomb of one file named many times',
    async () => overlapping(await archive({ a: zeros(9_000) }), 3),
    /more than 50 times/,
  ],
  ['more files than the limit', () => archive({ a: some, b: some, c: some, d: some }), /more than 3 files/],
  ['an encrypted file', async () => withFact(await archive({ a: some }), 'flags', (flags) => flags | 1), /encrypted/],
  [
    'a file packed by a method we do not know',
    async () => withFact(await archive({ a: some }), 'method', () => 12),
    /method 12/,
  ],
  [
    'a wrong checksum',
    async () => withFact(await archive({ a: some }), 'checksum', (sum) => (sum ^ 1) >>> 0),
    /checksum/,
  ],
  [
    'a size that is not what comes out',
    async () => withFact(await archive({ a: some }), 'unpacked', (n) => n - 1),
    /broken/,
  ],
  ['the half of an archive', async () => (await archive({ a: some })).subarray(0, 400), /broken/],
  [
    'damage in the middle',
    async () => {
      const zip = await archive({ a: some });
      return Buffer.concat([zip.subarray(0, 200), Buffer.alloc(40, 0xff), zip.subarray(240)]);
    },
    /broken|checksum/,
  ],
  ['no header that we know in any file', () => archive({ a: 'a,b\r\n1,2\r\n', b: 'nothing' }), /header/],
  [
    'two columns of one meaning',
    () => archive({ a: 'mobileNo,Status,status\r\n919999999001,DELIVERED,FAILED\r\n' }),
    /header/,
  ],
  ['a page of HTML', async () => '<html>502 Bad Gateway</html>', /neither a zip nor/],
  ['nothing', async () => '', /neither a zip nor/],
  ['plain text', async () => 'success | 200', /neither a zip nor/],
  ['long text', async () => Buffer.concat([Buffer.from('{"a":"'), noise(15_000)]), /neither a zip nor|not a zip/],
];

describe('an archive that cannot or may not be read is a typed answer, and nothing of it is handed over', () => {
  test.each(UNREADABLE)('%s', async (_name, body, says) => {
    const { answer, records, bad } = await readFrom(gives(await body()), LIMITS);
    expect(answer).toMatchObject({ kind: 'unreadable', detail: expect.stringMatching(says) });
    expect([records, bad]).toEqual([[], []]);
  });

  test('within the same limits a good one is read', async () => {
    expect((await readFrom(gives(await archive({ a: some, b: some })), LIMITS)).answer).toMatchObject({
      kind: 'read',
      rows: 100,
    });
  });

  test('a row over its limit is a bad row and no reason to give the day up', async () => {
    const csv = file(line(1), line(2, { text: 'x'.repeat(2_000) }), line(3));
    const { answer, bad } = await readFrom(gives(await archive({ a: csv })), LIMITS);
    expect(answer).toMatchObject({ kind: 'read', rows: 3, records: 2, badRows: 1 });
    expect(bad).toEqual([{ file: 1, line: 3, reason: 'row_too_long', evidence: {} }]);
  });
});

const nested = (fields: Readonly<Record<string, unknown>>) =>
  JSON.stringify({ response: { api: 'report', status: 'success', code: '200', ...fields } });

const WORDS: readonly (readonly [string, Answer, Partial<DayAnswer>])[] = [
  ['a refusal of the account', gives(refusal('216')), { kind: 'refused', code: '216' }],
  ['a code that nobody has mapped', gives(refusal('9910')), { kind: 'refused', code: '9910' }],
  ['a code that was mapped to "later"', gives(refusal('777')), { kind: 'not_yet', retryAfterMs: null }],
  ['a nested error', gives(nested({ status: 'error', code: 216 })), { kind: 'refused', code: '216' }],
  ['an error without a code', gives(refusal('')), { kind: 'unavailable' }],
  ['a success and nothing in it', gives(nested({})), { kind: 'unavailable' }],
  ['a success of a send', gives(success()), { kind: 'unavailable' }],
  ['two links', gives(nested({ a: 'http://a.invalid/x', b: 'http://b.invalid/y' })), { kind: 'unavailable' }],
  ['HTTP 429', gives('', 429, { 'retry-after': '7' }), { kind: 'not_yet', retryAfterMs: 7_000 }],
  ['HTTP 503 with a time', gives('', 503, { 'retry-after': '60' }), { kind: 'not_yet', retryAfterMs: 60_000 }],
  ['HTTP 500', gives('<html>', 500), { kind: 'unavailable', detail: 'HTTP 500' }],
  ['HTTP 302', gives('', 302, { location: '/elsewhere' }), { kind: 'unavailable', detail: 'HTTP 302' }],
  ['a connection that is cut', (_, response) => void response.destroy(), { kind: 'unavailable' }],
  [
    'an archive that is cut off on the way',
    (_, response) => {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write('PK\u0003\u0004 and no more', () => response.destroy());
    },
    { kind: 'unavailable' },
  ],
];

describe('an answer in words', () => {
  test.each(WORDS)('%s', async (_name, answer, wanted) => {
    const seen = await readFrom(answer, {}, { extraCodes: { 777: 'temporary' } });
    expect(seen.answer).toMatchObject(wanted);
    expect([seen.records, seen.fetched]).toEqual([[], []]);
    expect(JSON.stringify(seen.answer)).not.toContain(PASSWORD);
  });

  test('a link at the same origin is followed once, without the password', async () => {
    const zip = await archive({ a: file(line(1)) });
    for (const link of ['/files/day.zip?token=1', 'ABSOLUTE']) {
      const { answer, server } = await readFrom((request, response) =>
        request.path === '/SMSApi/report/day'
          ? response.end(
              nested({
                downloadUrl: link === 'ABSOLUTE' ? `http://${request.headers.host}/files/day.zip?token=1` : link,
              }),
            )
          : response.end(zip),
      );
      expect(answer).toMatchObject({ kind: 'read', records: 1 });
      expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'POST /SMSApi/report/day',
        'GET /files/day.zip?token=1',
      ]);
      expect(server.requests[1]?.form.size).toBe(0);
    }
  });

  test.each(['http://127.0.0.1:1/day.zip', 'https://elsewhere.invalid/x', '//elsewhere.invalid/x'])(
    'a link to another origin is not followed: %s',
    async (url) => {
      const { answer, server } = await readFrom(gives(nested({ fileUrl: url })));
      expect(answer).toMatchObject({ kind: 'unavailable', detail: expect.stringMatching(/another origin/) });
      expect(server.requests).toHaveLength(1);
    },
  );

  test('what lies at a link must be an archive, and is not followed again', async () => {
    const { answer, server } = await readFrom((_, response) => response.end(nested({ url: '/again' })));
    expect(answer).toMatchObject({ kind: 'unreadable' });
    expect(server.requests).toHaveLength(2);
  });

  test('nobody there, a day that is none, a zone that is none, and a call that is given up', async () => {
    const reader = { onFetched: () => undefined, onRows: async () => undefined };
    const nobody = adapterFor('http://127.0.0.1:1');
    expect(await nobody.dayReport(QUESTION, reader)).toMatchObject({ kind: 'unavailable' });
    for (const wrong of [{ day: '2026-02-30' }, { day: '17-07-2026' }, { zone: 'Mars/One' }])
      expect(await nobody.dayReport({ ...QUESTION, ...wrong }, reader)).toMatchObject({ kind: 'unavailable' });
    const server = await startProvider(() => undefined);
    const giving = new AbortController();
    const asked = adapterFor(server.url).dayReport(QUESTION, reader, giving.signal);
    setTimeout(() => giving.abort(), 50);
    expect(await asked).toMatchObject({ kind: 'unavailable' });
  });
});
