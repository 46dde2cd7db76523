import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from '@sendledger/local/fixtures';
import { afterAll, afterEach, describe, expect } from 'vitest';
import { endAllDemos, isRunning, removeLogs, startDemo } from './demo-process.ts';

const LONG_MS = 600_000;

afterEach(endAllDemos);
afterAll(removeLogs);

async function folder(): Promise<{ path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'sendledger-demo-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function gone(pids: readonly number[]): Promise<boolean> {
  for (let tries = 0; tries < 200; tries++) {
    if (!pids.some(isRunning)) return true;
    await sleep(50);
  }
  return false;
}

const pidsIn = (text: string) => [...text.matchAll(/ pid (\d+) /g)].map((match) => Number(match[1]));

describe('the example shop', () => {
  test('every message is settled once and billed as the gateway bills it', { timeout: LONG_MS }, async () => {
    const demo = startDemo(['--messages', '300', '--exit', '--json']);
    const { code, summary } = await demo.ended;
    expect(demo.stderr).toContain('transactions rolled back on purpose');
    expect(summary).toMatchObject({ enqueued: 300, open: 0, unknown: 0, lost: 0, duplicates: 0, gatewayAccepted: 300 });
    expect(summary?.billed).toBe(summary?.gatewayBilled);
    expect(Number(summary?.billed)).toBeGreaterThan(36);
    expect((summary?.delivered ?? 0) + (summary?.failed ?? 0)).toBe(300);
    expect(code).toBe(0);
    expect(await gone(pidsIn(demo.stderr))).toBe(true);
    const [, logs] = /^logs +(\S+)$/m.exec(demo.stderr) ?? [];
    const submitted = await readFile(join(logs ?? '', 'submit.log'), 'utf8');
    expect(submitted).toContain('"submitted"');
    // Texts carry codes; logs carry neither.
    expect(submitted).not.toMatch(/is your code|Thank you, /);
  });

  test('a provider that fails leaves unknown rows and sends nothing twice', { timeout: LONG_MS }, async () => {
    const demo = startDemo(['--messages', '300', '--exit', '--json', '--faults', '--seed', '7', '--workers', '2']);
    const { code, summary } = await demo.ended;
    expect(summary).toMatchObject({ enqueued: 300, open: 0, lost: 0, duplicates: 0 });
    expect(summary?.unknown).toBeGreaterThan(0);
    expect(code).toBe(0);
  });

  test('without Redis it goes on by polling, and says so', { timeout: LONG_MS }, async () => {
    await using bin = await folder();
    // All it needs of a PATH: this Node, and what finds the account Postgres may run under.
    await symlink(process.execPath, join(bin.path, 'node'));
    await symlink(execFileSync('which', ['id'], { encoding: 'utf8' }).trim(), join(bin.path, 'id'));
    const noDocker = { DOCKER_HOST: 'tcp://127.0.0.1:1', TESTCONTAINERS_HOST_OVERRIDE: '' };
    const demo = startDemo(['--messages', '100', '--exit', '--json'], { PATH: bin.path, ...noDocker });
    const { code, summary } = await demo.ended;
    expect(demo.stderr).toMatch(/Redis +none found/);
    expect(summary).toMatchObject({ enqueued: 100, open: 0, unknown: 0, lost: 0, duplicates: 0 });
    expect(code).toBe(0);
  });

  test('on a given server nothing is left behind', { timeout: LONG_MS }, async ({ database }) => {
    const passwords = `select count(*)::integer as n from pg_authid where rolname like 'sendledger%' and rolpassword is not null`;
    const demo = startDemo(['--messages', '50', '--exit', '--json'], { DATABASE_URL: database.url });
    const { code, summary } = await demo.ended;
    expect(summary).toMatchObject({ enqueued: 50, open: 0, lost: 0, duplicates: 0 });
    expect(code).toBe(0);
    const left = await database.pool.query(
      `select datname from pg_database where datname like 'sendledger\\_demo\\_%'`,
    );
    expect(left.rows).toEqual([]);
    expect((await database.pool.query(passwords)).rows).toEqual([{ n: 0 }]);
  });
});

describe('a file of the user', () => {
  test('bad lines of a CSV are named, and the others go on', { timeout: LONG_MS }, async () => {
    await using place = await folder();
    const file = join(place.path, 'messages.csv');
    await writeFile(
      file,
      [
        'recipient,body,event_id,class',
        '+919876500001,"Hello, one",e-1,transactional',
        '98765 00002,Hello two,e-2,',
        'not a number,Hello three,e-3,',
        '+919876500004,,e-4,',
        '+919876500001,"Hello, one",e-1,transactional',
        '+919876500001,Changed,e-1,transactional',
        '+919876500007,Sale,e-7,promotional',
        '+919876500008,too,many,columns,here',
      ].join('\n'),
    );
    const demo = startDemo(['--input', file, '--exit', '--json']);
    const { code, summary } = await demo.ended;
    expect(demo.stderr).toMatch(/^line 4: recipient: /m);
    expect(demo.stderr).toMatch(/^line 5: body: /m);
    expect(demo.stderr).toMatch(/^line 6: the same event/m);
    expect(demo.stderr).toMatch(/^line 7: body: /m);
    expect(demo.stderr).toMatch(/^line 9: /m);
    expect(summary).toMatchObject({ enqueued: 3, open: 0, unknown: 0, lost: 0, duplicates: 0, gatewayAccepted: 3 });
    expect(code).toBe(0);
  });

  test('NDJSON may name the templates of the shop', { timeout: LONG_MS }, async () => {
    await using place = await folder();
    const file = join(place.path, 'messages.ndjson');
    const params = { name: 'Asha', order: '77', total: '12.50' };
    await writeFile(
      file,
      [
        JSON.stringify({ recipient: '+919876500001', template: 'order-placed', params, event_id: '77' }),
        '{oops',
        JSON.stringify({ recipient: '+919876500003', template: 'no-such', event_id: '79' }),
      ].join('\n'),
    );
    const demo = startDemo(['--input', file, '--exit', '--json']);
    const { code, summary } = await demo.ended;
    expect(demo.stderr).toMatch(/^line 2: /m);
    expect(demo.stderr).toMatch(/^line 3: template: /m);
    expect(summary).toMatchObject({ enqueued: 1, delivered: (summary?.failed ?? 0) === 1 ? 0 : 1, lost: 0 });
    expect(code).toBe(0);
  });

  test('a file of which no line can be sent is a failure', { timeout: LONG_MS }, async () => {
    await using place = await folder();
    const file = join(place.path, 'messages.ndjson');
    await writeFile(file, '{oops\n');
    const { code } = await startDemo(['--input', file, '--exit', '--json']).ended;
    expect(code).toBe(1);
  });
});

describe('how it ends', () => {
  test('Ctrl-C stops children and servers', { timeout: LONG_MS }, async () => {
    const demo = startDemo(['--messages', '5000', '--exit', '--json']);
    await demo.saw(/enqueued 0\/5000/);
    const pids = pidsIn(demo.stderr);
    expect(pids).toHaveLength(3);
    process.kill(demo.pid, 'SIGINT');
    const { code, summary } = await demo.ended;
    expect(code).toBe(130);
    expect(summary).toBeUndefined();
    expect(await gone(pids)).toBe(true);
  });

  test('without --exit the shop stays open until Ctrl-C, and what is on its way arrives', {
    timeout: LONG_MS,
  }, async () => {
    const demo = startDemo(['--messages', '50', '--json']);
    // More than the rush: the trickle has begun.
    await demo.saw(/enqueued (5[1-9]|[6-9]\d|\d{3}),/);
    process.kill(demo.pid, 'SIGINT');
    // As npm and the launcher pass it on; it is the same Ctrl-C.
    process.kill(demo.pid, 'SIGINT');
    const { code, summary } = await demo.ended;
    expect(summary).toMatchObject({ open: 0, unknown: 0, lost: 0, duplicates: 0 });
    expect(summary?.enqueued).toBeGreaterThan(50);
    expect(code).toBe(0);
  });

  test('a demo that is killed takes its workers along', { timeout: LONG_MS }, async () => {
    const demo = startDemo(['--messages', '5000', '--exit', '--json']);
    await demo.saw(/enqueued 0\/5000/);
    const pids = pidsIn(demo.stderr);
    process.kill(demo.pid, 'SIGKILL');
    await demo.ended;
    expect(await gone(pids)).toBe(true);
  });

  test('a worker that dies ends the demo, which says who it was', { timeout: LONG_MS }, async () => {
    const demo = startDemo(['--messages', '5000', '--exit', '--json']);
    const [, pid] = await demo.saw(/^submit +pid (\d+) /m);
    process.kill(Number(pid), 'SIGKILL');
    const { code } = await demo.ended;
    expect(demo.stderr).toMatch(/submit ended with SIGKILL/);
    expect(code).toBe(1);
  });

  test('time that is over is a failure that says what is open', { timeout: LONG_MS }, async () => {
    const demo = startDemo(['--messages', '20000', '--exit', '--json', '--timeout', '1']);
    const { code, summary } = await demo.ended;
    expect(demo.stderr).toContain('Time is over. Still open:');
    expect(summary?.open).toBeGreaterThan(0);
    expect(code).toBe(1);
  });

  test('an unknown flag is refused before anything starts', async () => {
    const demo = startDemo(['--mesages', '5']);
    const { code } = await demo.ended;
    expect(demo.stderr).toContain("Unknown option '--mesages'");
    expect(code).toBe(1);
  });
});
