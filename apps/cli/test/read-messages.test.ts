import { type MessageFormat, type MessageLine, readMessages } from '@sendledger/producer';
import { describe, expect, test } from 'vitest';

const DEFAULTS = { tenant: 'shop', class: 'transactional', eventType: 'order' } as const;

/** In chunks of `size` octets, so that characters and line ends are cut apart. */
async function read(text: string | Uint8Array, format: MessageFormat, size = 7): Promise<MessageLine[]> {
  const octets = typeof text === 'string' ? Buffer.from(text) : text;
  async function* chunks() {
    for (let at = 0; at < octets.length; at += size) yield octets.subarray(at, at + size);
  }
  const lines: MessageLine[] = [];
  for await (const line of readMessages(chunks(), format, DEFAULTS)) lines.push(line);
  return lines;
}

const told = (lines: readonly MessageLine[]) =>
  lines.map((l) => (l.ok ? `${l.line} ok` : `${l.line} ${l.problems.map((p) => `${p.field}:${p.reason}`).join(' ')}`));

describe('CSV', () => {
  test('a byte order mark, CRLF, quotes, commas and line ends in quotes: each record by the line it begins on', async () => {
    const lines = await read(
      '\uFEFFrecipient,body,event_id\r\n+1,"one, ""two""\r\nthree\n",e1\r\n\r\n+2,नमस्ते 🙏,e2\r\n+3,"",e3',
      'csv',
      1,
    );
    expect(told(lines)).toEqual(['2 ok', '6 ok', '7 body:missing']);
    expect(lines.map((l) => (l.ok ? l.message.body : ''))).toEqual(['one, "two"\r\nthree\n', 'नमस्ते 🙏', '']);
  });

  test('a fault costs its own line and no other', async () => {
    const lines = await read(
      [
        'recipient,body,event_id',
        '+1,a"b,e1',
        '+2,ok,e2',
        '+3,"x"y,e3',
        '+4,ok,e4',
        '+5,ok',
        '+6,"open,e6',
        '+7,ok,e7',
        '+8,o,k,e8',
      ].join('\n'),
      'csv',
    );
    expect(told(lines)).toEqual([
      '2 line:stray_quote',
      '3 ok',
      '4 line:stray_quote',
      '5 ok',
      '6 line:column_count',
      '7 line:quote_not_closed',
      '8 ok',
      '9 line:column_count',
    ]);
  });

  test('a quote that is never closed does not swallow a long file', async () => {
    const lines = await read(
      ['recipient,body,event_id', '+1,"open,e', ...Array.from({ length: 2000 }, (_, i) => `+1${i},ok,e${i}`)].join(
        '\n',
      ),
      'csv',
      4096,
    );
    expect(told(lines).slice(0, 3)).toEqual(['2 line:quote_not_closed', '3 ok', '4 ok']);
    expect(lines.filter((l) => l.ok)).toHaveLength(2000);
  });

  test('other columns are variables of the template, an empty cell is none, params.NAME is one by any name', async () => {
    const [line] = await read(
      'to,event_id,template,template_version,order,unused,params.class\n+1,e,T1,3,A7,,gold\n',
      'csv',
    );
    expect(line).toEqual({
      ok: true,
      line: 2,
      message: {
        to: '+1',
        class: 'transactional',
        tenant: 'shop',
        event: { type: 'order', id: 'e' },
        template: { id: 'T1', version: 3, params: { order: 'A7', class: 'gold' } },
      },
    });
  });

  test('a variable without a template is named, as is a header that cannot be read', async () => {
    expect(told(await read('to,event_id,body,ordr\n+1,e,hi,x\n', 'csv'))).toEqual(['2 ordr:variable_without_template']);
    expect(told(await read('to,to,body\n+1,+2,hi\n', 'csv'))).toEqual(['1 to:column_twice']);
    expect(told(await read('to,,body\n+1,+2,hi\n', 'csv'))).toEqual(['1 line:column_nameless']);
    expect(told(await read('', 'csv'))).toEqual([]);
  });

  test('a column that is missing is missed on each line', async () => {
    expect(told(await read('body\nhi\nho\n', 'csv'))).toEqual([
      '2 recipient:missing event_id:event_id_missing',
      '3 recipient:missing event_id:event_id_missing',
    ]);
  });

  test('octets that are not UTF-8 are refused and never become another letter', async () => {
    const latin1 = Buffer.concat([
      Buffer.from('to,event_id,body\n+1,e1,caf'),
      Buffer.from([0xe9]),
      Buffer.from('\n+2,e2,ok\n'),
    ]);
    expect(told(await read(latin1, 'csv'))).toEqual(['2 line:not_utf8', '3 ok']);
  });

  test('names of Object.prototype are columns like any other', async () => {
    expect(told(await read('to,event_id,body,constructor,__proto__\n+1,e,hi,x,y\n', 'csv'))).toEqual([
      '2 constructor:variable_without_template __proto__:variable_without_template',
    ]);
  });
});

describe('NDJSON', () => {
  test('lines are cut at LF only, and counted with the empty ones', async () => {
    const text = JSON.stringify({ recipient: '+1', body: 'one\u2028two', event_id: 'e' }).replaceAll(
      '\\u2028',
      '\u2028',
    );
    const lines = await read(`\uFEFF${text}\r\n\n${text}`, 'ndjson', 3);
    expect(told(lines)).toEqual(['1 ok', '3 ok']);
    expect(lines[0]).toMatchObject({ message: { body: 'one\u2028two' } });
  });

  test('what is no object, has a wrong type or a misspelt field is named', async () => {
    const lines = await read(
      [
        '{"recipient": "+1", "body": "secret',
        '[1]',
        'null',
        '{"recipient": 919876543210, "body": "hi", "event_id": 7}',
        '{"recipient": "+1", "bdy": "hi", "event_id": "e"}',
        '{"recipient": "+1", "to": "+1", "body": "hi", "event_id": "e"}',
        '{"recipient": "+1", "template": "T", "params": {"n": 1}, "template_version": 0, "event_id": "e", "class": "ads"}',
        '{"recipient": "+1", "template": "T", "params": {"n": "1"}, "template_version": 2, "event_id": "e"}',
      ].join('\n'),
      'ndjson',
    );
    expect(told(lines)).toEqual([
      '1 line:not_json',
      '2 line:not_an_object',
      '3 line:not_an_object',
      '4 recipient:wrong_type event_id:wrong_type',
      '5 bdy:unknown_field body:missing',
      '6 recipient:recipient_and_to',
      '7 params.n:wrong_type template_version:not_allowed class:not_allowed',
      '8 ok',
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  test('a line without end is read past, and the next one is read', async () => {
    const lines = await read(
      `{"body": "${'x'.repeat(600_000)}"}\n{"recipient":"+1","body":"hi","event_id":"e"}\n`,
      'ndjson',
      65_536,
    );
    expect(told(lines)).toEqual(['1 line:line_too_long', '2 ok']);
  });
});
