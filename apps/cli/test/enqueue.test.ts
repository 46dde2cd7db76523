import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from '@sendledger/local/fixtures';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { csvLines, DEFAULTS, ndjsonLines, numberOf } from './message-file.ts';
import { aHouse, runCli } from './run-cli.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sendledger-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('enqueue', () => {
  test('10 000 NDJSON lines with bad ones among them; the same file again is all duplicates', async ({
    freshDatabase,
  }) => {
    const { url, pool } = freshDatabase;
    await aHouse(url);
    const lines = ndjsonLines(10_000);
    lines[99] = '{"recipient": "+919876500099", "body": "secret text", ';
    lines[4_999] = JSON.stringify({ recipient: '+919', body: 'secret text', event_id: 'n-4999' });
    lines[9_998] = JSON.stringify({ recipient: numberOf(9_998), body: 'secret text' });
    await writeFile(path.join(folder, 'big.ndjson'), lines.join('\n'));

    const first = await runCli(['enqueue', 'big.ndjson', ...DEFAULTS, '--json'], { url, cwd: folder });
    expect(JSON.parse(first.stdout)).toEqual({
      accepted: 9_997,
      created: 9_997,
      duplicates: 0,
      conflicts: 0,
      invalid: 3,
      lines: 10_000,
    });
    expect(first.code).toBe(2);
    expect(first.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^line 100: not_json: /),
      expect.stringMatching(/^line 5000: recipient: too_short: /),
      expect.stringMatching(/^line 9999: event_id: event_id_missing: .*line number/),
    ]);
    expect(first.stderr).not.toContain('secret');
    const { rows } = await pool.query('select count(*)::int as n from sendledger.outbound_message');
    expect(rows).toEqual([{ n: 9_997 }]);

    const second = await runCli(['enqueue', 'big.ndjson', ...DEFAULTS, '--json'], { url, cwd: folder });
    expect(JSON.parse(second.stdout)).toMatchObject({ accepted: 9_997, created: 0, duplicates: 9_997, invalid: 3 });
  });

  test('10 000 CSV lines with CRLF and a mark; texts arrive as they were written', async ({
    freshDatabase,
    redisUrl,
  }) => {
    const { url, pool } = freshDatabase;
    await aHouse(url);
    const lines = csvLines(10_000);
    lines[5_000] = `${numberOf(4_999)},"Dear ""A"",\r\nyour order, ₹1 is ready",c-4999`;
    lines[7_000] = `${numberOf(6_999)},a "stray" quote,c-6999`;
    await writeFile(path.join(folder, 'big.csv'), `\uFEFF${lines.join('\r\n')}\r\n`);

    const ran = await runCli(['enqueue', 'big.csv', ...DEFAULTS], { url, redisUrl, cwd: folder });
    expect(ran.stdout).toBe(
      '10,000 lines: 9,999 accepted (9,999 created, 0 there before), 1 refused (1 invalid, 0 conflicts)\n',
    );
    // One line further than its position: the record before it spans two.
    expect(ran.stderr).toMatch(/^line 7002: stray_quote: [^\n]*\n$/);
    expect(ran.code).toBe(2);
    const { rows } = await pool.query(
      `select body, encoding from sendledger.outbound_message where event_id = 'c-4999'`,
    );
    expect(rows).toEqual([{ body: 'Dear "A",\r\nyour order, ₹1 is ready', encoding: 'UCS2' }]);
  });

  test('every line accepted is exit code 0; another text under the same event is a conflict and exit code 2', async ({
    freshDatabase: { url },
  }) => {
    await aHouse(url);
    const line = (body: string) => JSON.stringify({ to: numberOf(1), body, event_id: 'e-1' });
    const args = ['enqueue', '-', '--format', 'ndjson', ...DEFAULTS];
    expect(await runCli(args, { url, input: line('one') })).toMatchObject({ code: 0, stderr: '' });
    expect(await runCli(args, { url, input: line('one') })).toMatchObject({ code: 0, stderr: '' });
    const other = await runCli(args, { url, input: `${line('one')}\n${line('two')}` });
    expect(other.stderr).toMatch(/^line 2: event_id: conflict: Message \d+ has this event/);
    expect(other.stdout).toContain('1 conflict)');
    expect(other.code).toBe(2);
  });

  test('a template, its variables by column, and what the template does not know', async ({ freshDatabase }) => {
    const { url, pool } = freshDatabase;
    await aHouse(url);
    const template = { id: 'T1', version: 1, class: 'transactional', body: 'Order {{order}}', variables: ['order'] };
    await runCli(['template', 'add', '-'], { url, input: JSON.stringify(template) });
    const csv =
      'recipient,template,event_id,order,colour\n98765 43210,T1,e1,A1,\n98765 43210,T1,e2,A2,red\n98765 43210,T9,e3,A2,\n';
    const args = ['enqueue', '-', '--format', 'csv', ...DEFAULTS, '--region', 'IN'];
    const ran = await runCli(args, { url, input: csv });
    expect(ran.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^line 3: params\.colour: unknown_variable: /),
      expect.stringMatching(/^line 4: template: template_unknown: /),
    ]);
    const { rows } = await pool.query('select body, recipient from sendledger.outbound_message');
    expect(rows).toEqual([{ body: 'Order A1', recipient: '919876543210' }]);
  });

  test('what keeps a file from being read is one line and exit code 1', async ({ freshDatabase: { url } }) => {
    for (const [args, said] of [
      [['enqueue', 'nowhere.csv'], 'nowhere.csv does not exist.'],
      [['enqueue', '.', '--format', 'csv'], '. is a folder.'],
      [['enqueue', 'orders.xlsx'], 'says neither CSV nor NDJSON'],
      [['enqueue', '-'], 'Say what standard input is'],
    ] as const) {
      const ran = await runCli(args, { url, cwd: folder });
      expect(ran).toMatchObject({ code: 1, stdout: '' });
      expect(ran.stderr.trim().split('\n')).toEqual([expect.stringContaining(said)]);
    }
  });

  test('works as the role sendledger_cli, and is refused in one line as a role that may not', async ({
    freshDatabase,
  }) => {
    await aHouse(freshDatabase.urlFor('sendledger_cli'));
    const line = JSON.stringify({ to: numberOf(1), body: 'hi', event_id: 'e-1' });
    const args = ['enqueue', '-', '--format', 'ndjson', ...DEFAULTS];
    expect(await runCli(args, { url: freshDatabase.urlFor('sendledger_cli'), input: line })).toMatchObject({ code: 0 });
    const refused = await runCli(args, { url: freshDatabase.urlFor('sendledger_submit'), input: line });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^The role of DATABASE_URL may not do this[^\n]*\n$/);
  });
});
