import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { rowsOf } from '@sendledger/core/ledger';
import { migrate } from '@sendledger/core/schema';
import { createDatabase, dropDatabase, freePort, startPostgres, urlFor } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect, inject } from 'vitest';
import { type AppName, endAllApps, startApp } from '../support/app-process.ts';

afterEach(endAllApps);

const APPS: readonly AppName[] = ['claim', 'submit', 'reconcile', 'backfill', 'ops'];

function postgres14(): string | null {
  try {
    const entry = createRequire(import.meta.url).resolve('postgres-14-linux-x64');
    return path.join(path.dirname(entry), '..', 'native', 'bin');
  } catch (error) {
    // Where everything must be shown, absence is a failure and not a skipped test.
    if (process.env.CI && process.platform === 'linux' && process.arch === 'x64') throw error;
    return null;
  }
}

/** One line on standard error, exit code 1, nothing on standard output. */
async function refusal(app: AppName, environment: Record<string, string>): Promise<string> {
  const process = startApp(app, environment);
  expect(await process.ended).toBe(1);
  expect(process.log).toEqual([]);
  const lines = process.stderr.trimEnd().split('\n');
  expect(lines).toHaveLength(1);
  return lines[0] ?? '';
}

describe('an app that cannot work says why in one line and starts nothing', () => {
  test('bad configuration: every variable at once, and no value of one', async ({ database }) => {
    const line = await refusal('submit', {
      DATABASE_URL: 'mysql://user:hunter2@nowhere/db',
      SENDLEDGER_POLL_INTERVAL_MS: 'soon',
      SENDLEDGER_SUBMIT_CONCURRENCY: '0',
      SMSGATEWAYCENTER_USERID: '',
    });
    for (const name of [
      'DATABASE_URL',
      'SENDLEDGER_POLL_INTERVAL_MS',
      'SENDLEDGER_SUBMIT_CONCURRENCY',
      'SMSGATEWAYCENTER_USERID must be set',
    ])
      expect(line).toContain(name);
    expect(line).toMatch(/^SENDLEDGER_CONFIG: /);
    expect(line).not.toContain('hunter2');
    expect(await rowsOf(database.pool, 'select 1 from sendledger.worker')).toEqual([]);
  });

  test('a lease shorter than the request deadline plus margin names the settings that clash (FC-08)', async ({
    database,
  }) => {
    const line = await refusal('submit', {
      DATABASE_URL: database.urlFor('sendledger_submit'),
      SENDLEDGER_REQUEST_DEADLINE_MS: '5000',
      SENDLEDGER_LEASE_MARGIN_MS: '1000',
      SENDLEDGER_REQUEST_LEASE_MS: '5999',
    });
    expect(line).toContain('SENDLEDGER_REQUEST_LEASE_MS');
    expect(line).toContain('SENDLEDGER_REQUEST_DEADLINE_MS + SENDLEDGER_LEASE_MARGIN_MS = 6000');
  });

  test('a fault of one variable does not hide that others clash', async () => {
    const line = await refusal('submit', {
      DATABASE_URL: 'nonsense',
      SMSGATEWAYCENTER_PASSWORD: '',
      SENDLEDGER_REQUEST_LEASE_MS: '600',
    });
    for (const name of ['DATABASE_URL', 'SMSGATEWAYCENTER_PASSWORD', 'SENDLEDGER_REQUEST_LEASE_MS'])
      expect(line).toContain(name);
  });

  test('a credential that cannot be sent, an address that carries one', async ({ database }) => {
    const line = await refusal('submit', {
      DATABASE_URL: database.urlFor('sendledger_submit'),
      SMSGATEWAYCENTER_PASSWORD: 'hunter 2',
      SMSGATEWAYCENTER_BASE_URL: 'https://me:hunter2@provider.invalid/?a=1',
    });
    expect(line).toContain('SMSGATEWAYCENTER_PASSWORD must be printable ASCII');
    expect(line).toContain('SMSGATEWAYCENTER_BASE_URL must not carry credentials');
    expect(line).not.toContain('hunter');
  });

  test('a port for health that is taken', async ({ freshDatabase: database }) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const line = await refusal('claim', {
      DATABASE_URL: database.urlFor('sendledger_claim'),
      SENDLEDGER_HEALTH_PORT: String((taken.address() as AddressInfo).port),
    });
    expect(line).toContain('EADDRINUSE');
    expect(await rowsOf(database.pool, 'select 1 from sendledger.worker')).toEqual([]);
    taken.close();
  });

  test("another app's role, a database that is not there, a wrong password", async ({ database }) => {
    expect(await refusal('claim', { DATABASE_URL: database.urlFor('sendledger_submit') })).toContain(
      'DATABASE_URL acts as sendledger_submit, and this is claim: it must be sendledger_claim',
    );
    const absent = new URL(database.url);
    absent.pathname = '/no_such_database';
    expect(await refusal('claim', { DATABASE_URL: absent.href })).toMatch(/^SENDLEDGER_DATABASE_REFUSED: /);
    const stranger = new URL(database.url);
    stranger.username = 'nobody_we_know';
    expect(await refusal('claim', { DATABASE_URL: stranger.href })).toMatch(/^SENDLEDGER_DATABASE_REFUSED: /);
  });

  test('no credential at all', async ({ database }) => {
    const line = await refusal('reconcile', {
      DATABASE_URL: database.urlFor('sendledger_reconcile'),
      SMSGATEWAYCENTER_PASSWORD: '',
    });
    expect(line).toContain('SMSGATEWAYCENTER_PASSWORD must be set, or SMSGATEWAYCENTER_APIKEY');
  });

  test('ops on an address that others reach, without credentials', async ({ database }) => {
    const line = await refusal('ops', {
      DATABASE_URL: database.urlFor('sendledger_ops'),
      SENDLEDGER_OPS_HOST: '0.0.0.0',
      SENDLEDGER_OPS_USER: 'asha',
    });
    expect(line).toMatch(
      /^SENDLEDGER_CONFIG: .*SENDLEDGER_OPS_PASSWORD must be set where SENDLEDGER_OPS_HOST is not a loopback/,
    );
    expect(line).not.toContain('SENDLEDGER_OPS_USER must');
  });

  test('an unreachable database', async () => {
    const port = await freePort();
    for (const app of APPS) {
      const line = await refusal(app, { DATABASE_URL: `postgres://u:secret@127.0.0.1:${port}/none` });
      expect(line).toMatch(/^SENDLEDGER_DATABASE_UNREACHABLE: /);
      expect(line).not.toContain('secret');
    }
  });

  test('a database that was never migrated', async () => {
    const { adminUrl } = inject('sendledger');
    const name = `bare_${randomBytes(4).toString('hex')}`;
    await createDatabase(adminUrl, name);
    for (const app of APPS) {
      const line = await refusal(app, { DATABASE_URL: urlFor(adminUrl, { database: name }) });
      expect(line).toMatch(/^SENDLEDGER_MIGRATION_MISSING: /);
      expect(line).toContain('npm run sendledger -- migrate');
    }
    await dropDatabase(adminUrl, name);
  });

  // The binaries of 14 come from npm for this platform only; what is checked is the server's own version number.
  const fourteen = postgres14();
  test.runIf(fourteen !== null)('a Postgres older than 15', async () => {
    const server = await startPostgres({ only: 'embedded', binDir: fourteen ?? '' });
    for (const app of APPS) {
      const line = await refusal(app, { DATABASE_URL: server.url });
      expect(line).toMatch(/^SENDLEDGER_DATABASE_TOO_OLD: .*It is 14\./);
    }
    await expect(migrate(server.url, 'test')).rejects.toMatchObject({ code: 'SENDLEDGER_DATABASE_TOO_OLD' });
    await server.stop();
  });

  test('a database with one migration missing', async ({ freshDatabase: database }) => {
    await database.pool.query(`delete from sendledger.mikro_orm_migrations where name = '0009_grants'`);
    const line = await refusal('claim', { DATABASE_URL: database.urlFor('sendledger_claim') });
    expect(line).toContain('Missing: 0009_grants');
  });
});
