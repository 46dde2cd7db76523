import { randomUUID } from 'node:crypto';
import { addRate, addRoute, rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { createProducer } from '@sendledger/producer';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, SHORT_LEASE, startApp } from '../support/app-process.ts';
import { furnish, openRows, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

describe('two providers, the second for what the first cannot deliver', () => {
  test('the refused go to the second once; what may have been sent goes to nobody twice (FC-02)', async ({
    freshDatabase: database,
  }) => {
    const first = await startGatewaySim({ invalidMobile: /7$/ });
    const second = await startGatewaySim();
    await furnish(database);
    const { id } = await addRoute(database.pool, {
      name: 'second',
      provider: 'smsgatewaycenter',
      account: 'second',
      channel: 'sms',
      maxBatch: 1,
      encodingRule: 'ascii',
      providerZone: 'Asia/Kolkata',
      defaultSenderId: 'SHOPIN',
      senderRequired: true,
      nationalDigits: 10,
    });
    await addRate(database.pool, {
      routeId: id,
      priceKey: '*',
      currency: 'INR',
      price: '0.1200',
      validFrom: new Date('2020-01-01T00:00:00Z'),
      validTo: null,
    });
    // These are accepted, and nobody answers.
    first.faults.forNumber(/8$/, 'accept-then-hang');

    const url = urls(database);
    const both = [
      { SMSGATEWAYCENTER_BASE_URL: first.url, SMSGATEWAYCENTER_ACCOUNT: 'default' },
      { SMSGATEWAYCENTER_BASE_URL: second.url, SMSGATEWAYCENTER_ACCOUNT: 'second' },
    ];
    startApp('claim', { DATABASE_URL: url.claim });
    for (const account of both) {
      startApp('submit', { ...account, ...SHORT_LEASE, DATABASE_URL: url.submit });
      startApp('reconcile', { ...account, DATABASE_URL: url.reconcile });
    }
    const producer = createProducer({ tenant: 'shop', defaultRegion: 'IN' });
    const messages = Array.from({ length: 40 }, (_, i) => ({
      class: 'transactional' as const,
      to: `+9198${String(10_000_000 + i)}`,
      event: { type: 'order', id: randomUUID() },
      body: `Order ${i} is ready`,
      route: 'main',
      fallback: [{ route: 'second', body: `Order ${i} is ready (sent another way)` }],
    }));
    await producer.transaction(database.pool, (tx) => producer.enqueue(tx, messages));
    await producer.close();

    const done = async () =>
      (await openRows(database)) === 0 &&
      (
        await rowsOf(
          database.pool,
          `select 1 from sendledger.outbound_message where state = 'unknown'
         or (fallback_step is not null and state in ('rejected', 'failed'))`,
        )
      ).length === 0;
    await until(done);

    const byKey = await rowsOf<{ ending: string; rows: string; delivered: string; providers: string }>(
      database.pool,
      `select right(m.recipient, 1) as ending, count(*)::text as rows, count(*) filter (where m.state = 'delivered')::text as delivered,
         string_agg(distinct r.name, ',') as providers
       from sendledger.outbound_message m join sendledger.route r on r.id = m.route_id group by m.business_key, right(m.recipient, 1)`,
    );
    expect(byKey).toHaveLength(40);
    for (const key of byKey)
      expect(key, key.ending).toMatchObject(
        key.ending === '7'
          ? { rows: '2', delivered: '1', providers: 'main,second' }
          : { rows: '1', delivered: '1', providers: 'main' },
      );
    expect(second.log.counts()).toMatchObject({ accepted: 4, duplicates: 0 });
    expect(first.log.counts()).toMatchObject({ accepted: 36, duplicates: 0 });
    await first.close();
    await second.close();
  });
});
