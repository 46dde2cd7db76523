import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, statesOf, urls } from '../support/house.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/settled.ts';
import { startSilentListener } from '../support/silent-listener.ts';

afterEach(endAllApps);

/** Lookup, connect and TLS end after 1.5 s each: the process must be stopped before, on a busy machine too. */
const SHORT_LEASE = {
  SENDLEDGER_REQUEST_DEADLINE_MS: '6000',
  SENDLEDGER_REQUEST_LEASE_MS: '7000',
  SENDLEDGER_SEND_BUDGET_MS: '5000',
};

/** Reads of the report and of the account would be bytes too: here reconcile finds nobody to ask. */
const NOBODY = { SMSGATEWAYCENTER_BASE_URL: 'http://127.0.0.1:1' };
/** Proven not sent, a code is not sent again by itself; anything else would be, and its bytes would be counted. */
const CODE = { class: 'otp' } as const;

const submissionState = async (database: TestDatabase) => {
  const [row] = await rowsOf<{ state: string; over: boolean }>(
    database.pool,
    'select state, lease_until < clock_timestamp() as over from sendledger.submission order by id desc limit 1',
  );
  return row;
};

/** A worker that was declared dead and wakes up must not send. */
describe('a worker stopped between mark and first byte, and continued after its lease (FC-07)', () => {
  test('before it connects: no byte leaves', async ({ freshDatabase: database }) => {
    const provider = await startSilentListener('http');
    const proxy = await startPostgresProxy(database.url);
    await furnish(database);
    const url = urls(database);
    startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '60000' });
    const gateway = { SMSGATEWAYCENTER_BASE_URL: provider.url };
    const submit = startApp('submit', { ...SHORT_LEASE, ...gateway, DATABASE_URL: proxy.through(url.submit) });
    await submit.saw((line) => line.event === 'started');
    proxy.holdAnswerTo('sendledger.mark_next(');
    await enqueueMany(database, 1, CODE);
    await proxy.held;
    submit.signal('SIGSTOP');
    expect(await submissionState(database)).toMatchObject({ state: 'marked' });
    startApp('reconcile', { ...NOBODY, DATABASE_URL: url.reconcile });
    await until(async () => (await statesOf(database)).unknown === 1);

    proxy.release();
    submit.signal('SIGCONT');
    // It finds its budget spent, says so, and that late proof is what moves the row: never sent, never again by itself.
    await submit.saw((line) => line.event === 'submitted' && line.outcome === 'not_sent');
    await until(async () => (await statesOf(database)).failed === 1);
    expect(provider.bytes).toBe(0);
    expect(await rowsOf(database.pool, 'select state, state_reason, cost from sendledger.outbound_message')).toEqual([
      { state: 'failed', state_reason: 'late_not_sent_send_budget', cost: null },
    ]);
    await Promise.all([provider.close(), proxy.close()]);
  });

  test('inside the TLS handshake: no byte of the request leaves', async ({ freshDatabase: database }) => {
    const provider = await startSilentListener('https');
    await furnish(database);
    const url = urls(database);
    startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '60000' });
    const gateway = { SMSGATEWAYCENTER_BASE_URL: provider.url, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const submit = startApp('submit', { ...SHORT_LEASE, ...gateway, DATABASE_URL: url.submit });
    await enqueueMany(database, 1, CODE);
    await provider.connected;
    submit.signal('SIGSTOP');
    await until(async () => (await submissionState(database))?.over);
    startApp('reconcile', { ...NOBODY, DATABASE_URL: url.reconcile });
    await until(async () => (await statesOf(database)).unknown === 1);

    provider.answerHandshakes();
    submit.signal('SIGCONT');
    await submit.saw((line) => line.event === 'submitted' && line.outcome === 'not_sent');
    await until(async () => (await statesOf(database)).failed === 1);
    expect(provider.bytes).toBe(0);
    await provider.close();
  });

  test('with a kept-alive socket at hand, whose connect never fires: no byte leaves', async ({
    freshDatabase: database,
  }) => {
    // A provider that accepts, keeps its connections open, and counts every byte on each.
    const accepted =
      '{"status":"success","mobile":"","invalidMobile":"","transactionId":"6305583318236810379","statusCode":"200","reason":"success"}';
    let connections = 0;
    let requests = 0;
    const provider = createServer({ keepAlive: true, keepAliveTimeout: 120_000 }, (request, response) => {
      requests++;
      request.resume().on('end', () => response.end(accepted));
    });
    let bytes = 0;
    provider.on('connection', (socket) => {
      connections++;
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
    });
    provider.listen(0, '127.0.0.1');
    await once(provider, 'listening');
    const proxy = await startPostgresProxy(database.url);
    await furnish(database);
    const url = urls(database);
    startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '60000' });
    const gateway = {
      SMSGATEWAYCENTER_BASE_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
      SMSGATEWAYCENTER_KEEP_ALIVE: 'on',
    };
    const submit = startApp('submit', { ...SHORT_LEASE, ...gateway, DATABASE_URL: proxy.through(url.submit) });
    // Two messages one after the other use one connection: it is kept.
    for (const count of [1, 2]) {
      await enqueueMany(database, 1, { ...CODE, from: count });
      await until(async () => (await statesOf(database)).submitted === count);
    }
    expect({ connections, requests }).toEqual({ connections: 1, requests: 2 });
    const before = bytes;

    proxy.holdAnswerTo('sendledger.mark_next(');
    await enqueueMany(database, 1, { ...CODE, from: 3 });
    await proxy.held;
    submit.signal('SIGSTOP');
    startApp('reconcile', { ...NOBODY, DATABASE_URL: url.reconcile });
    await until(async () => (await statesOf(database)).unknown === 1);
    proxy.release();
    submit.signal('SIGCONT');
    await submit.saw((line) => line.event === 'submitted' && line.outcome === 'not_sent');
    expect({ connections, requests, bytes: bytes - before }).toEqual({ connections: 1, requests: 2, bytes: 0 });
    provider.closeAllConnections();
    provider.close();
    await proxy.close();
  });

  test('with the request on the wire: the late reply lands, and the row is submitted and billed', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    const url = urls(database);
    const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
    startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '60000' });
    sim.faults.next('hold');
    const submit = startApp('submit', {
      ...gateway,
      DATABASE_URL: url.submit,
      // The process stands still longer than its lease, but its deadline must not be what ends the request.
      SENDLEDGER_REQUEST_DEADLINE_MS: '60000',
      SENDLEDGER_REQUEST_LEASE_MS: '61000',
    });
    await enqueueMany(database, 1);
    await sim.faults.untilHeld(1);
    submit.signal('SIGSTOP');
    // The hour passes in the database: the guard freezes a lease, so only the owner of the table can turn the clock.
    await database.pool.query('alter table sendledger.submission disable trigger guard_update');
    await database.pool.query(`update sendledger.submission set lease_until = now() - interval '1 s'`);
    await database.pool.query('alter table sendledger.submission enable trigger guard_update');
    const reconcile = startApp('reconcile', { ...gateway, DATABASE_URL: url.reconcile });
    await reconcile.saw((line) => line.event === 'lease_lost');

    sim.faults.release();
    submit.signal('SIGCONT');
    await until(async () => (await statesOf(database)).delivered === 1);
    expect(sim.log.counts()).toMatchObject({ accepted: 1, duplicates: 0 });
    expect(
      await rowsOf(database.pool, 'select cost::text, cost_currency, billable_units from sendledger.outbound_message'),
    ).toEqual([{ cost: '0.1200', cost_currency: 'INR', billable_units: 1 }]);
    await sim.close();
  });
});
