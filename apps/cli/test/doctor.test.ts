import { registerWorker } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import type { Check } from '../src/doctor/check.ts';
import { aHouse, runCli, type Where } from './run-cli.ts';

async function examined(
  where: Where,
): Promise<{ code: number | null; of: (check: string) => Check | undefined; checks: Check[] }> {
  const ran = await runCli(['doctor', '--json'], where);
  const { checks } = JSON.parse(ran.stdout) as { checks: Check[] };
  return { code: ran.code, checks, of: (name) => checks.find((check) => check.check === name) };
}

describe('doctor', () => {
  test('a healthy house: nothing to say, exit code 0', async ({ freshDatabase, redisUrl }) => {
    await aHouse(freshDatabase.url);
    for (const app of ['claim', 'submit', 'reconcile']) await registerWorker(freshDatabase.pool, app, `${app}-0`);
    const url = freshDatabase.urlFor('sendledger_cli');
    const { code, checks } = await examined({ url, redisUrl });
    expect(checks.filter((check) => check.status !== 'ok')).toEqual([]);
    expect(code).toBe(0);
    const page = await runCli(['doctor'], { url, redisUrl });
    expect(page.stdout.trim().split('\n')).toHaveLength(checks.length);
    expect(page.stderr).toMatch(/0 problems, 0 warnings/);
  });

  test("a provider's clock that is read in the wrong zone is a problem, until it is set right", async ({
    freshDatabase: { url, pool },
  }) => {
    await aHouse(url);
    const setClock = (ms: number) =>
      pool.query('update sendledger.route set clock_offset_ms = $1, clock_pairs = 40, clock_seen_at = now()', [ms]);
    expect((await examined({ url })).of('clock of main')).toMatchObject({ status: 'ok' });
    await setClock(-5.5 * 3_600_000);
    const { of, code } = await examined({ url });
    expect(of('clock of main')).toMatchObject({
      status: 'problem',
      detail: expect.stringContaining('behind'),
      remedy: expect.stringContaining('route set main --zone'),
    });
    expect(code).toBe(1);
    const set = ['route', 'set', 'main', '--zone', 'UTC', '--by', 'meera', '--why', 'they write UTC'];
    await runCli(set, { url });
    expect((await examined({ url })).of('clock of main')).toMatchObject({ status: 'ok' });
    await setClock(1_200);
    expect((await examined({ url })).of('clock of main')).toMatchObject({ status: 'ok' });
  });

  test('no server: one problem, and nothing else about the database', async () => {
    const { code, checks } = await examined({ url: 'postgres://127.0.0.1:1/x' });
    expect(checks.map((check) => [check.check, check.status])).toEqual([
      ['database', 'problem'],
      ['redis', 'warning'],
    ]);
    expect(code).toBe(1);
  });

  test('no schema, and a migration that was not run', async ({ freshDatabase: { url, pool } }) => {
    await pool.query(`delete from sendledger.mikro_orm_migrations where name = '0009_grants'`);
    expect((await examined({ url })).of('migrations')).toMatchObject({
      status: 'problem',
      detail: 'missing: 0009_grants',
    });
    await pool.query('drop schema sendledger cascade');
    const { code, of } = await examined({ url });
    expect(of('migrations')).toMatchObject({ status: 'problem', remedy: 'Run: npm run sendledger -- migrate' });
    expect(of('ledger')).toMatchObject({ status: 'warning' });
    expect(code).toBe(1);
  });

  test('another environment, a copy, a promotion, a hold', async ({ freshDatabase: { url, pool } }) => {
    await aHouse(url);
    const elsewhere = await examined({ url, environment: 'production' });
    expect(elsewhere.of('environment')).toMatchObject({ status: 'problem' });
    expect(elsewhere.code).toBe(1);
    await pool.query(
      `update sendledger.dataset_epoch set status = 'hold', status_reason = 'restored', timeline = '0000FFFF'`,
    );
    const held = await examined({ url });
    expect(held.of('dataset')).toMatchObject({ status: 'problem', detail: expect.stringContaining('restored') });
    expect(held.of('cluster')).toMatchObject({ status: 'problem', detail: expect.stringContaining('timeline') });
    expect(held.of('sending by main')).toMatchObject({ status: 'problem' });
    await pool.query(`update sendledger.dataset_epoch set system_identifier = '1'`);
    expect((await examined({ url })).of('cluster')).toMatchObject({
      detail: expect.stringContaining('another cluster'),
    });
  });

  test('no route; a route without price, without lane, paused; only some countries', async ({
    freshDatabase: { url, pool },
  }) => {
    expect((await examined({ url })).of('routes')).toMatchObject({ status: 'problem' });
    await runCli(['route', 'add', 'main', '--provider', 'p'], { url });
    expect((await examined({ url })).of('prices of main')).toMatchObject({
      status: 'problem',
      detail: expect.stringContaining('otp, transactional, promotional'),
    });
    for (const key of ['otp:IN', 'transactional:*', 'promotional:*'])
      await runCli(['rate', 'add', '--route', 'main', '--price', '1', '--currency', 'INR', '--key', key], { url });
    expect((await examined({ url })).of('prices of main')).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('otp to IN'),
    });
    await runCli(['route', 'pause', 'main', '--reason', 'balance is low'], { url });
    await pool.query(`delete from sendledger.lane where message_class = 'promotional'`);
    const { of } = await examined({ url });
    expect(of('sending by main')).toMatchObject({
      status: 'problem',
      detail: expect.stringContaining('balance is low'),
    });
    expect(of('lanes of main')).toMatchObject({ status: 'problem', detail: expect.stringContaining('promotional') });
  });

  test('workers that stopped, reviews, late rows, a stray row, a missing month', async ({
    freshDatabase: { url, pool },
  }) => {
    await aHouse(url);
    await registerWorker(pool, 'claim', 'claim-0');
    await pool.query(`update sendledger.worker set last_seen_at = now() - interval '1 minute'`);
    await pool.query(`insert into sendledger.review_item (kind, subject) values ('no_rate', 'x')`);
    await pool.query(
      `insert into sendledger.message_template (template_id, version, channel, message_class, body, variables)
       values ('code', 1, 'sms', 'otp', '{{code}}', '[{"name":"code","secret":true}]')`,
    );
    const input = JSON.stringify({
      to: '+919876543210',
      template: 'code',
      params: { code: '482915' },
      event_id: 'e',
      event_type: 't',
      class: 'otp',
      tenant: 'shop',
    });
    await runCli(['enqueue', '-', '--format', 'ndjson'], { url, input });
    await pool.query(`update sendledger.outbound_message set due_at = now() - interval '3 hours'`);
    await pool.query(
      `insert into sendledger.delivery_receipt (received_month, dedupe_hash, route_id, source, status_word, status)
       values ('1999-01-01', '\\x01', 1, 'poll', 'x', 'open')`,
    );
    const { of } = await examined({ url });
    expect(of('worker claim')).toMatchObject({ status: 'warning', detail: expect.stringContaining('last seen') });
    expect(of('reviews')).toMatchObject({ status: 'warning', detail: 'open: 1 no_rate' });
    expect(of('due otp')).toMatchObject({ status: 'warning', detail: 'the oldest is due for 3 h 0 min' });
    expect(of('default partitions')).toMatchObject({ status: 'problem', detail: expect.stringContaining('1 rows') });
    const next = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1, 1))
      .toISOString()
      .slice(0, 7);
    await pool.query(`drop table sendledger.submission_${next.replace('-', '_')}`);
    const { of: after, code } = await examined({ url });
    expect(after('partitions')).toMatchObject({
      status: 'problem',
      detail: `missing: submission_${next.replace('-', '_')}`,
    });
    expect(code).toBe(1);
  });

  test('Redis that evicts, is not there, or is not named: warnings only', async ({
    freshDatabase: { url },
    redis,
    redisUrl,
  }) => {
    await aHouse(url);
    const { Redis } = await import('ioredis');
    const client = new Redis(redisUrl);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    client.disconnect();
    expect((await examined({ url, redisUrl })).of('redis')).toMatchObject({
      detail: expect.stringContaining('allkeys-lru'),
    });
    await redis.kill();
    const { of, code } = await examined({ url, redisUrl });
    expect(of('redis')).toMatchObject({ status: 'warning', detail: expect.stringContaining('works by polling') });
    expect(code).toBe(0);
    expect((await examined({ url })).of('redis')).toMatchObject({ status: 'warning' });
  });
});
