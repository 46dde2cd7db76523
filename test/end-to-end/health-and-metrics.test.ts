import { randomBytes } from 'node:crypto';
import { rowsOf } from '@sendledger/core/ledger';
import { migrate } from '@sendledger/core/schema';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { createDatabase, startPostgres, urlFor } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { type AppProcess, endAllApps, SHORT_LEASE, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, openRows, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

async function healthOf(app: AppProcess): Promise<string> {
  return String((await app.saw((line) => line.event === 'started')).health);
}

/** The value of a series by its name and labels, as Prometheus would read it. */
async function metric(url: string, series: RegExp): Promise<number | undefined> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((l) => series.test(l));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
}

describe('what an operator reads of a worker', () => {
  test('the two gauges are there before the first message, and zero; then they say what is', async ({
    freshDatabase: database,
  }) => {
    // Receipts never come, so that what is submitted stays pending.
    const sim = await startGatewaySim({ deliveryMs: { min: 3_600_000, max: 3_600_000 } });
    await furnish(database);
    const url = urls(database);
    const health = await healthOf(startApp('ops', { DATABASE_URL: url.ops }));
    const oldest = /^sendledger_oldest_due_seconds\{.*message_class="otp"/;
    const ratio = /^sendledger_pending_ratio\{.*message_class="transactional"/;
    await until(async () => (await metric(health, oldest)) === 0);
    expect(await metric(health, ratio)).toBe(0);
    expect(await metric(health, /^sendledger_default_partition_rows/)).toBe(0);

    // Nobody claims: the oldest due code grows older.
    await enqueueMany(database, 1, { class: 'otp' });
    await until(async () => ((await metric(health, oldest)) ?? 0) > 0);
    await database.pool.query(`update sendledger.outbound_message set state = 'cancelled' where state = 'pending'`);
    await until(async () => (await metric(health, oldest)) === 0);

    // Submitted and unconfirmed is 1; the denominator is everything that was submitted, so rejected and pending do not count.
    startApp('claim', { DATABASE_URL: url.claim });
    startApp('submit', { DATABASE_URL: url.submit, SMSGATEWAYCENTER_BASE_URL: sim.url });
    await enqueueMany(database, 4);
    await until(async () => (await metric(health, ratio)) === 1);
    expect(await openRows(database)).toBe(4);
    await sim.close();
  });

  test('ready while Postgres answers, not ready while it does not, alive all along', async () => {
    const server = await startPostgres({ only: 'embedded' });
    const name = `health_${randomBytes(4).toString('hex')}`;
    await createDatabase(server.url, name);
    const url = urlFor(server.url, { database: name });
    await migrate(url, 'test');
    const claim = startApp('claim', { DATABASE_URL: urlFor(url, { role: 'sendledger_claim' }) });
    const health = await healthOf(claim);
    const status = async (path: string) => (await fetch(`${health}${path}`)).status;
    expect([await status('/livez'), await status('/readyz')]).toEqual([200, 200]);
    await server.crash();
    await until(async () => (await status('/readyz')) === 503);
    expect(await status('/livez')).toBe(200);
    await server.restart();
    await until(async () => (await status('/readyz')) === 200);
    claim.signal('SIGTERM');
    expect(await claim.ended).toBe(0);
    await server.stop();
  });

  test('a lost request is a line with its attempt key', async ({ freshDatabase: database }) => {
    const sim = await startGatewaySim();
    await furnish(database);
    const url = urls(database);
    startApp('claim', { DATABASE_URL: url.claim });
    sim.faults.next('hold');
    const submit = startApp('submit', {
      ...SHORT_LEASE,
      DATABASE_URL: url.submit,
      SMSGATEWAYCENTER_BASE_URL: sim.url,
    });
    await enqueueMany(database, 1);
    await sim.faults.untilHeld(1);
    submit.signal('SIGKILL');
    const reconcile = startApp('reconcile', { DATABASE_URL: url.reconcile, SMSGATEWAYCENTER_BASE_URL: sim.url });
    const line = await reconcile.saw((l) => l.event === 'lease_lost');
    const [row] = await rowsOf<{ attempt_key: string }>(
      database.pool,
      'select attempt_key from sendledger.outbound_message',
    );
    expect(line).toMatchObject({ attempt_key: row?.attempt_key, state: 'unknown', reason: 'lease_expired' });
    await sim.close();
  });
});
