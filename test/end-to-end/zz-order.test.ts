import { randomUUID } from 'node:crypto';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { afterEach } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';
afterEach(endAllApps);

test('A: recipients, batch', async ({ freshDatabase: database, redisUrl }) => {
  const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
  await furnish(database);
  await database.pool.query(`update sendledger.route set rate_per_second = 20, rate_unit = 'recipients', max_batch = 500`);
  await enqueueMany(database, 100, { class: 'promotional', body: () => 'The same text for all' });
  const url = urls(database);
  const common = { REDIS_URL: redisUrl, SMSGATEWAYCENTER_BASE_URL: sim.url };
  startApp('claim', { ...common, DATABASE_URL: url.claim });
  startApp('submit', { ...common, DATABASE_URL: url.submit });
  startApp('reconcile', { ...common, DATABASE_URL: url.reconcile });
  for (let i = 0; i < 5; i++) {
  await new Promise((r) => setTimeout(r, 10_000));
  console.log('A after', (i + 1) * 10, sim.log.counts().accepted, JSON.stringify((await database.pool.query(`select state, size, count(*)::int from sendledger.submission group by 1,2`)).rows), JSON.stringify((await database.pool.query(`select state, state_reason, count(*)::int from sendledger.outbound_message group by 1,2`)).rows));
  }
  await sim.close();
  await endAllApps();
});

test('G: transactional beside a promotional backlog', async ({ freshDatabase: database, redisUrl }) => {
  const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
  await furnish(database);
  await database.pool.query(`update sendledger.route set rate_per_second = 40`);
  await enqueueMany(database, 3000, { class: 'promotional' });
  const url = urls(database);
  const common = { REDIS_URL: redisUrl, SMSGATEWAYCENTER_BASE_URL: sim.url };
  startApp('claim', { ...common, DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '300000' });
  for (let i = 0; i < 2; i++) startApp('submit', { ...common, DATABASE_URL: url.submit });
  await until(() => sim.log.counts().accepted >= 80);
  const before = sim.log.counts().accepted;
  await enqueueMany(database, 200, { class: 'transactional', from: 100_000 });
  const isT = (m: string) => Number(m.slice(-8)) >= 10_100_000;
  const order = await until(() => {
    const mobiles = sim.log.accepted(0, 5000).map((m: any) => m.mobile);
    return mobiles.filter(isT).length === 200 ? mobiles : undefined;
  });
  const first = order.findIndex(isT), last = order.findLastIndex(isT);
  console.log('G promotional sent between enqueue and the last transactional', order.slice(before, last + 1).filter((m: string) => !isT(m)).length, 'between first and last', order.slice(first, last + 1).filter((m: string) => !isT(m)).length, 'of 200 transactional');
  await sim.close();
});
