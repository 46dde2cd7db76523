import { dayIn, SendledgerError } from '@sendledger/core';
import { rowsOf } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { aHouse, runCli } from './run-cli.ts';

const DAY_MS = 86_400_000;
const kolkata = (ago: number) => dayIn('Asia/Kolkata', new Date(Date.now() - ago * DAY_MS));

const route = (...more: string[]) => ['route', 'add', ...more, '--sender', 'SHOPIN'];

describe('backfill start', () => {
  test('makes a run, one checkpoint for each account and day, whatever the routes of an account are', async ({
    freshDatabase: { url, pool, urlFor },
  }) => {
    await aHouse(url);
    for (const args of [
      route('second', '--provider', 'smsgatewaycenter'),
      route('other', '--provider', 'smsgatewaycenter', '--account', 'two'),
      route('elsewhere', '--provider', 'somebody'),
    ])
      expect(await runCli(args, { url })).toMatchObject({ code: 0 });
    const as = { url: urlFor('sendledger_cli') };
    expect(await runCli(['backfill', 'status'], as)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'There is no backfill yet.\n',
    });

    const span = ['--from', kolkata(3), '--to', kolkata(1), '--by', 'asha'];
    expect(await runCli(['backfill', 'start', ...span], as)).toMatchObject({
      code: 0,
      stdout: 'run 1: 6 calls to smsgatewaycenter/default, smsgatewaycenter/two\n',
    });
    const one = await runCli(['backfill', 'start', ...span, '--route', 'second', '--json'], as);
    expect(JSON.parse(one.stdout)).toEqual({ run: '2', checkpoints: 3, accounts: ['smsgatewaycenter/default'] });
    expect(
      await rowsOf(
        pool,
        `select c.run_id, c.account, r.name, c.day::text, c.state from sendledger.job_checkpoint c join sendledger.route r on r.id = c.route_id
         where c.day = $1 order by c.run_id, c.account`,
        [kolkata(2)],
      ),
    ).toEqual([
      { run_id: '1', account: 'default', name: 'main', day: kolkata(2), state: 'waiting' },
      { run_id: '1', account: 'two', name: 'other', day: kolkata(2), state: 'waiting' },
      { run_id: '2', account: 'default', name: 'second', day: kolkata(2), state: 'waiting' },
    ]);

    const listed = await runCli(['backfill', 'status'], as);
    expect(listed.stdout).toContain('[........................]   0 %');
    const page = await runCli(['backfill', 'status', '1', '--days'], as);
    expect(page.stdout).toMatch(/0 of 6 days applied, running: 0 in hand, 6 waiting/);
    expect(page.stdout).toMatch(/started by asha/);
    expect(JSON.parse((await runCli(['backfill', 'status', '1', '--json'], as)).stdout)).toMatchObject({
      id: '1',
      state: 'running',
      days: { total: 6, waiting: 6, applied: 0 },
      reads: 0,
    });

    expect(await runCli(['backfill', 'cancel', '1', '--by', 'asha'], as)).toMatchObject({
      code: 0,
      stdout: 'run 1 cancelled, 6 days open\n',
    });
    expect(await runCli(['backfill', 'cancel', '1'], as)).toMatchObject({
      code: 0,
      stdout: 'run 1 had ended already\n',
    });
    // Of a run that has ended, watching ends at once.
    expect(await runCli(['backfill', 'status', '1', '--watch'], as)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/0 of 6 days applied, cancelled, 6 cancelled/),
    });
    for (const findings of [
      ['orphans', '1'],
      ['bad-rows', '1'],
    ])
      expect(await runCli(['backfill', ...findings], as)).toMatchObject({ code: 0, stdout: '' });
    await pool.query(
      `insert into sendledger.job_bad_row (checkpoint_id, file_no, line_no, reason, evidence)
       select c.id, 1, 2, 'names_nobody', '{"mobileNo": "''919876543210"}' from sendledger.job_checkpoint c order by c.id limit 1`,
    );
    const masked = await runCli(['backfill', 'bad-rows', '1', '--json'], as);
    expect(masked).toMatchObject({ code: 0, stdout: expect.stringContaining('9198******10') });
    expect(masked.stdout).not.toContain('919876543210');
    expect((await runCli(['backfill', 'bad-rows', '1', '--json', '--reveal'], as)).stdout).toContain('919876543210');
    for (const command of ['status', 'cancel', 'orphans', 'bad-rows'])
      expect(await runCli(['backfill', command, '99'], as)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('There is no backfill 99'),
      });
  });

  test('refuses what cannot be read, says what to do, and writes nothing', async ({ freshDatabase: { url, pool } }) => {
    await aHouse(url);
    await runCli(route('elsewhere', '--provider', 'somebody'), { url });
    await runCli(route('west', '--provider', 'smsgatewaycenter', '--account', 'west', '--zone', 'Pacific/Pago_Pago'), {
      url,
    });
    const start = async (from: string, to: string, ...more: string[]) => {
      const ran = await runCli(['backfill', 'start', '--from', from, '--to', to, ...more], { url });
      expect([ran.code, ran.stdout]).toEqual([1, '']);
      return ran.stderr;
    };
    expect(await start(kolkata(1), kolkata(3))).toMatch(/before it begins/);
    const today = await start(kolkata(1), kolkata(0), '--route', 'main');
    expect(today).toContain('SENDLEDGER_BACKFILL_REFUSED');
    expect(today).toContain(`${kolkata(0)} is not over for smsgatewaycenter/default`);
    expect(today).toContain(`end it on ${kolkata(1)} at the latest`);
    expect(await start(kolkata(1), kolkata(-9), '--route', 'main')).toMatch(/is not over/);
    expect(await start(kolkata(400), kolkata(2))).toMatch(/399 days are more than 366/);
    expect(await start('2026-02-30', kolkata(2))).toMatch(/is no day/);
    expect(await start('yesterday', kolkata(2))).toMatch(/Give a day/);
    expect(await start(kolkata(3), kolkata(2), '--route', 'nowhere')).toMatch(
      /There is no route nowhere. There are: main/,
    );
    expect(await start(kolkata(3), kolkata(2), '--route', 'elsewhere')).toMatch(/has no report of a day/);
    expect(await rowsOf(pool, 'select from sendledger.job_run')).toEqual([]);
  });

  test('the day must be over in the zone of each account', async () => {
    const { backfillDays } = await import('@sendledger/core');
    const clock = (zone: string) => ({ provider: 'p', account: zone, zone });
    // In India the 18th began; in Samoa it is still the 17th, and will be for half a day.
    const now = new Date('2026-07-17T20:00:00Z');
    expect(backfillDays('2026-07-16', '2026-07-17', [clock('Asia/Kolkata')], now)).toEqual([
      '2026-07-16',
      '2026-07-17',
    ]);
    expect(() =>
      backfillDays('2026-07-16', '2026-07-17', [clock('Asia/Kolkata'), clock('Pacific/Pago_Pago')], now),
    ).toThrow(SendledgerError);
    expect(backfillDays('2024-02-28', '2024-03-01', [], now)).toEqual(['2024-02-28', '2024-02-29', '2024-03-01']);
  });

  test('the read limit of a route is set, shown and bounded', async ({ freshDatabase: { url, pool } }) => {
    await aHouse(url);
    const limit = async () =>
      (
        await rowsOf<{ limit: string | null }>(
          pool,
          'select trim_scale(reads_per_minute)::text as limit from sendledger.route',
        )
      )[0]?.limit;
    expect(await limit()).toBe('6');
    for (const [given, kept] of [
      ['0.5', '0.5'],
      ['none', null],
      ['30', '30'],
    ] as const) {
      const set = ['route', 'set', 'main', '--reads-per-minute', given, '--by', 'asha', '--why', 'they said so'];
      expect(await runCli(set, { url })).toMatchObject({ code: 0 });
      expect(await limit()).toBe(kept);
    }
    for (const bad of ['0', '0.0', '-1', 'many'])
      expect(
        await runCli(['route', 'set', 'main', `--reads-per-minute=${bad}`, '--by', 'a', '--why', 'b'], { url }),
      ).toMatchObject({ code: 1 });
  });
});
