import { beatWorker, registerWorker } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { expect } from 'vitest';
import type { Check } from '../src/doctor/check.ts';
import { aHouse, runCli } from './run-cli.ts';

test('route probe asks for the next probe, and with --force for one without the free call', async ({
  freshDatabase: database,
}) => {
  const { pool } = database;
  await aHouse(database.url);
  const url = database.urlFor('sendledger_cli');
  expect(await runCli(['route', 'probe', 'main', '--force'], { url })).toMatchObject({
    code: 0,
    stdout: 'the breaker of route main is closed\n',
  });
  await pool.query(
    `update sendledger.route set breaker_state = 'open', breaker_opened_at = now(), breaker_reason = 'x', probe_at = now() + interval '1 h'`,
  );
  const route = async () =>
    (await pool.query('select probe_at <= now() as due, probe_forced as forced from sendledger.route')).rows[0];
  expect(await runCli(['route', 'probe', 'main'], { url })).toMatchObject({
    code: 0,
    stdout: 'the next probe of route main is due now\n',
  });
  expect(await route()).toEqual({ due: true, forced: false });
  expect(await runCli(['route', 'probe', 'main', '--force'], { url })).toMatchObject({
    code: 0,
    stdout: 'the next probe of route main is due now, without the free call\n',
  });
  expect(await route()).toEqual({ due: true, forced: true });
});

test('doctor warns of a name that two living processes share', async ({ freshDatabase: database }) => {
  const { pool } = database;
  await aHouse(database.url);
  const url = database.urlFor('sendledger_cli');
  const shared = async () => {
    const { checks } = JSON.parse((await runCli(['doctor', '--json'], { url })).stdout) as { checks: Check[] };
    return checks.filter(({ check }) => check.startsWith('instance '));
  };
  const first = await registerWorker(pool, 'submit', 'sms-1');
  await registerWorker(pool, 'submit', 'sms-1');
  expect(await shared()).toEqual([]);
  await beatWorker(pool, first.id);
  expect(await shared()).toMatchObject([
    { check: 'instance sms-1', status: 'warning', detail: expect.stringContaining('1 of app submit') },
  ]);
});
