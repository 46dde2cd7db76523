import { randomBytes } from 'node:crypto';
import { rowsOf } from '@sendledger/core/ledger';
import { migrate } from '@sendledger/core/schema';
import { type GatewaySim, startGatewaySim } from '@sendledger/gateway-sim';
import { createDatabase, type EmbeddedPostgres, startPostgres, type TestDatabase, urlFor } from '@sendledger/local';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { type AppProcess, endAllApps, startApp } from '../support/app-process.ts';
import { finalStates } from '../support/final-states.ts';
import { enqueueMany, furnish, openRows, statesOf, urls } from '../support/house.ts';
import { LONG_CLAIM_LEASE, pushUrlOf, TAKES_PUSHES } from '../support/push-endpoint.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

const MESSAGES = 400;

interface Scene {
  readonly server: EmbeddedPostgres;
  readonly database: TestDatabase;
  readonly sim: GatewaySim;
  readonly reconcile: AppProcess;
  readonly url: string;
}

/** Messages that were all accepted and are not final, and a reconcile app that hears of them by pushes alone. */
async function awaitedByPush(server: EmbeddedPostgres): Promise<Scene> {
  const name = `outage_${randomBytes(4).toString('hex')}`;
  await createDatabase(server.url, name);
  const databaseUrl = urlFor(server.url, { database: name });
  await migrate(databaseUrl, 'test');
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const database: TestDatabase = { name, url: databaseUrl, pool, urlFor: (role) => urlFor(databaseUrl, { role }) };
  await furnish(database);
  const sim = await startGatewaySim({ failMobile: /[37]$/, pushRetryMs: 50, pushTries: 3 });
  sim.delivery.stuck(/./);
  const of = urls(database);
  const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
  const senders = [
    startApp('claim', { ...LONG_CLAIM_LEASE, DATABASE_URL: of.claim }),
    startApp('submit', { ...gateway, DATABASE_URL: of.submit, SENDLEDGER_FIRST_REPORT_MS: '3600000' }),
  ];
  await enqueueMany(database, MESSAGES);
  await until(async () => (await statesOf(database)).submitted === MESSAGES);
  for (const sender of senders) sender.signal('SIGTERM');
  await Promise.all(senders.map((sender) => sender.ended));
  const reconcile = startApp('reconcile', {
    ...gateway,
    ...TAKES_PUSHES,
    DATABASE_URL: of.reconcile,
    // A poll plans the next one for later than any test lasts: what it finds now is what there is.
    SENDLEDGER_REPORT_PAUSE_MS: '3600000',
    SENDLEDGER_REPORT_LONGEST_PAUSE_MS: '3600000',
    // No answer of this test waits for it: what is not answered at once fails by the simulator's own time-out.
    SENDLEDGER_PUSH_STORE_WITHIN_MS: '60000',
  });
  const url = await pushUrlOf(reconcile);
  // The start asks for everything once; that is over before the storm.
  await reconcile.saw((line) => line.event === 'push_outage_over' && line.cause === 'start');
  await until(
    async () =>
      (await rowsOf(pool, 'select 1 from sendledger.submission where polls = 0 or poll_at <= now()')).length === 0,
  );
  sim.push.to(url);
  return { server, database, sim, reconcile, url };
}

/** All become final at once. */
const storm = ({ sim }: Scene) => sim.delivery.clear();

const storedPushes = async ({ database }: Scene): Promise<number> => {
  const [row] = await rowsOf<{ n: number }>(
    database.pool,
    `select count(*)::int as n from sendledger.delivery_receipt where source = 'push'`,
  );
  return row?.n ?? 0;
};

async function end({ database, sim, reconcile }: Scene): Promise<void> {
  reconcile.signal('SIGTERM');
  expect(await reconcile.ended).toBe(0);
  await database.pool.end();
  await sim.close();
}

/** FC-30 */
describe('Postgres ends in a storm of receipts', () => {
  it('each push is answered 200 after it is on disk or 503 at once, and every row ends as in the run without a fault', async () => {
    const server = await startPostgres({ only: 'embedded' });
    const calm = await awaitedByPush(server);
    storm(calm);
    await until(async () => (await openRows(calm.database)) === 0);
    const wanted = await finalStates(calm.database);
    expect(Object.keys(wanted)).toHaveLength(MESSAGES);
    await calm.sim.push.settled();
    expect(calm.sim.push.counts()).toMatchObject({ delivered: MESSAGES, failed: 0 });
    expect(calm.reconcile.log.some((line) => line.event === 'push_outage_began')).toBe(false);
    await end(calm);

    const struck = await awaitedByPush(server);
    storm(struck);
    await until(() => struck.sim.push.counts().delivered > 50);
    await server.crash();
    // It stays away until the provider has given every other push up: that is what it means that some never call again.
    await struck.sim.push.settled();
    const { delivered, failed } = struck.sim.push.counts();
    expect(delivered + failed).toBe(MESSAGES);
    expect(failed).toBeGreaterThan(0);
    const late = await fetch(struck.url, {
      method: 'POST',
      body: 'Transactionid=1&MobileNumber=919810000000&ErrorCode=0',
    });
    expect(late.status).toBe(503);

    await server.restart();
    await until(async () => {
      try {
        return (await storedPushes(struck)) >= delivered;
      } catch {
        return false;
      }
    });
    await struck.reconcile.saw((line) => line.event === 'push_outage_over' && line.cause === 'refused');
    await until(async () => (await openRows(struck.database)) === 0);
    expect(await finalStates(struck.database)).toEqual(wanted);
    expect(struck.sim.log.counts()).toMatchObject({ accepted: MESSAGES, duplicates: 0 });
    // One line when it begins and one when it is over, however many pushes it refuses.
    expect(struck.reconcile.log.filter((line) => line.event === 'push_outage_began')).toHaveLength(1);
    expect(
      (await fetch(struck.url, { method: 'POST', body: 'Transactionid=2&MobileNumber=919810000000&ErrorCode=0' }))
        .status,
    ).toBe(200);
    await end(struck);
    await server.stop();
  });
});
