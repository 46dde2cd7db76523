import { randomBytes } from 'node:crypto';
import { rowsOf } from '@sendledger/core/ledger';
import { migrate } from '@sendledger/core/schema';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { createDatabase, startPostgres, type TestDatabase, urlFor } from '@sendledger/local';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { endAllApps, SHORT_LEASE, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

describe('Postgres ends at once, with synchronous_commit off by default', () => {
  it('a mark is on disk before its request leaves: still no second copy', async () => {
    // The writer of the log sleeps for ten seconds, so that what is not flushed by its own commit is lost for certain.
    const server = await startPostgres({ only: 'embedded', settings: { wal_writer_delay: '10000ms' } });
    const name = `power_cut_${randomBytes(4).toString('hex')}`;
    await createDatabase(server.url, name);
    const url = urlFor(server.url, { database: name });
    await migrate(url, 'test');
    const pool = new pg.Pool({ connectionString: url });
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    // Of the role that logs in; the apps act as their own roles behind it.
    await pool.query('alter role postgres set synchronous_commit = off');
    const database: TestDatabase = { name, url, pool, urlFor: (role) => urlFor(url, { role }) };
    await furnish(database);

    // The test can fail: a commit of the default kind is lost here.
    await pool.query('create table power_cut_control (n integer)');
    await pool.query('checkpoint');
    const sim = await startGatewaySim();
    const app = urls(database);
    const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
    sim.faults.next('hold');
    const claim = startApp('claim', { DATABASE_URL: app.claim });
    const submit = startApp('submit', { ...SHORT_LEASE, ...gateway, DATABASE_URL: app.submit });
    await enqueueMany(database, 1);
    await sim.faults.untilHeld(1);
    // On a session that began after the default was changed.
    const control = new pg.Client({ connectionString: url });
    control.on('error', () => undefined);
    await control.connect();
    await control.query('insert into power_cut_control values (1)');
    await server.crash();
    for (const process of [claim, submit]) process.signal('SIGKILL');
    await Promise.all([claim.ended, submit.ended]);
    await server.restart();

    const after = new pg.Pool({ connectionString: url });
    expect(await rowsOf(after, 'select count(*)::int as n from power_cut_control')).toEqual([{ n: 0 }]);
    const back: TestDatabase = { ...database, pool: after };
    expect(await rowsOf(after, 'select state from sendledger.submission')).toEqual([{ state: 'marked' }]);
    startApp('claim', { DATABASE_URL: app.claim });
    startApp('submit', { ...gateway, DATABASE_URL: app.submit });
    const reconcile = startApp('reconcile', { ...gateway, DATABASE_URL: app.reconcile });
    await reconcile.saw((line) => line.event === 'lease_lost');
    await enqueueMany(back, 1, { from: 10 });
    await until(async () => (await statesOf(back)).delivered === 2);
    expect(sim.log.counts()).toMatchObject({ accepted: 2, duplicates: 0 });
    await endAllApps();
    await Promise.all([after.end(), pool.end()]);
    await sim.close();
    await server.stop();
  });
});
