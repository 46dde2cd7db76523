import { randomUUID } from 'node:crypto';
import { addTemplate } from '@sendledger/core/ledger';
import { type GatewaySim, startGatewaySim } from '@sendledger/gateway-sim';
import type { TestDatabase } from '@sendledger/local';
import { test } from '@sendledger/local/fixtures';
import { createProducer, type Producer } from '@sendledger/producer';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

const TEMPLATE = 'login-code';
const RATE = 40;
const CAMPAIGN = 3_000;
const CODES = 40;

/** Numbers of the campaign begin with 9198, those of the codes with 9197. */
const isCode = (mobile: string) => mobile.startsWith('9197');

async function saturated(database: TestDatabase, redisUrl: string): Promise<{ sim: GatewaySim; bank: Producer }> {
  const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 } });
  await furnish(database);
  await addTemplate(database.pool, {
    id: TEMPLATE,
    version: '1',
    channel: 'sms',
    messageClass: 'otp',
    body: 'Your code is {{code}}',
    variables: [{ name: 'code', secret: true }],
    senderId: null,
    dltEntityId: null,
    dltTemplateId: null,
  });
  await database.pool.query('update sendledger.route set rate_per_second = $1', [RATE]);
  await enqueueMany(database, CAMPAIGN, { class: 'promotional' });
  const url = urls(database);
  const common = { REDIS_URL: redisUrl, SMSGATEWAYCENTER_BASE_URL: sim.url };
  // Nobody sweeps here: a claim that a slow fleet does not get to must not end.
  startApp('claim', { ...common, DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '300000' });
  for (let i = 0; i < 2; i++) startApp('submit', { ...common, DATABASE_URL: url.submit });
  await until(() => sim.log.counts().accepted >= RATE);
  return { sim, bank: createProducer({ tenant: 'bank', defaultRegion: 'IN', redisUrl }) };
}

const code = (n: number) => ({
  class: 'otp' as const,
  to: `+9197${String(10_000_000 + n)}`,
  event: { type: 'login', id: randomUUID() },
  template: { id: TEMPLATE, params: { code: String(100_000 + n) } },
});

describe('a campaign of one tenant fills the rate of the route, another tenant sends codes (FC-42)', () => {
  test('codes that come together take what the rate gives, and the campaign what they leave', async ({
    freshDatabase: database,
    redisUrl,
  }) => {
    const { sim, bank } = await saturated(database, redisUrl);
    await bank.transaction(database.pool, (tx) =>
      bank.enqueue(
        tx,
        Array.from({ length: CODES }, (_, n) => code(n)),
      ),
    );
    const order = await until(() => {
      const mobiles = sim.log.accepted(0, CAMPAIGN).map(({ mobile }) => mobile);
      return mobiles.filter(isCode).length === CODES ? mobiles : undefined;
    });
    const amongThem = order.slice(order.findIndex(isCode), order.findLastIndex(isCode) + 1);
    // On a machine that is not busy it is none; in the order of their coming all three thousand would be before them.
    expect(amongThem.filter((mobile) => !isCode(mobile)).length).toBeLessThan(CODES);
    expect(order.length).toBeLessThan(CAMPAIGN / 2);
    expect(sim.log.counts().duplicates).toBe(0);
    await bank.close();
    await sim.close();
  });

  test('codes that come one after another: none waits behind the campaign, which has the rest of the rate', async ({
    freshDatabase: database,
    redisUrl,
  }) => {
    const { sim, bank } = await saturated(database, redisUrl);
    const passedBy: number[] = [];
    for (let n = 0; n < 15; n++) {
      const before = sim.log.counts().accepted;
      await bank.transaction(database.pool, (tx) => bank.enqueue(tx, code(n)));
      const place = await until(() => {
        const found = sim.log.accepted({ mobile: `9197${10_000_000 + n}` })[0];
        return found?.number;
      });
      passedBy.push(place - 1 - before);
    }
    // A handful each on a machine that is not busy; whoever stood in line would see what is left of the campaign pass.
    expect(Math.max(...passedBy)).toBeLessThan(CAMPAIGN / 10);
    const promotions = sim.log.counts().accepted - 15;
    expect(promotions).toBeGreaterThan(RATE);
    expect(promotions).toBeLessThan(CAMPAIGN / 2);
    await bank.close();
    await sim.close();
  });
});
