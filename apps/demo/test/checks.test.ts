import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from '@sendledger/local/fixtures';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { duplicates, shopAgainstLedger } from '../src/checks.ts';
import { type Child, startChild } from '../src/child.ts';
import { furnish } from '../src/house.ts';
import { Shop } from '../src/shop.ts';
import type { Order } from '../src/shop-plan.ts';

// A verdict that cannot be bad is worth nothing: each check is shown the fault it is there for.

const ORDER: Order = { id: 'S-1', phone: '+919876510001', name: 'Asha', total: '99.00', code: null, reminders: 2 };

let simulator: Child;
let place: string;

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'sendledger-demo-test-'));
  simulator = await startChild({
    name: 'gateway-sim',
    app: 'gateway-sim',
    args: ['--port', '0'],
    environment: {},
    logFile: join(place, 'gateway-sim.log'),
    readyIn: (line) => /^gateway-sim listening on (\S+)$/.exec(line)?.[1],
  });
});
afterAll(async () => {
  await simulator.stop(3_000);
  await rm(place, { recursive: true });
});

async function send(mobile: string, msg: string): Promise<void> {
  const form = new URLSearchParams({
    userid: 'demo',
    password: 'demopassword',
    sendMethod: 'quick',
    senderid: 'SHOPIN',
    msgType: 'text',
    output: 'json',
    mobile,
    msg,
  });
  const answer = await fetch(`${simulator.url}/SMSApi/send`, { method: 'POST', body: form });
  expect(await answer.json()).toMatchObject({ status: 'success' });
}

describe('the shop against the ledger', () => {
  test('a waiting row is not a settled one, and a missing one is lost', async ({ freshDatabase: { pool, url } }) => {
    await furnish(url, 1);
    const shop = new Shop(url, null);
    await shop.run({ kind: 'checkout', orders: [ORDER] });
    await shop.close();
    expect(await shopAgainstLedger(pool)).toEqual({ lost: 3, uncalled: 0 });
    await pool.query(`update sendledger.outbound_message set state = 'expired', state_reason = 'test'`);
    expect(await shopAgainstLedger(pool)).toEqual({ lost: 0, uncalled: 0 });
    await pool.query(`insert into shop.announced values ('A-1', '+919876510001')`);
    expect(await shopAgainstLedger(pool)).toEqual({ lost: 1, uncalled: 0 });
    await pool.query(`delete from shop.orders`);
    expect(await shopAgainstLedger(pool)).toEqual({ lost: 1, uncalled: 3 });
  });

  test('a transaction that fails leaves neither order nor message, and a repeated call no second one', async ({
    freshDatabase: { pool, url },
  }) => {
    await furnish(url, 1);
    const shop = new Shop(url, null);
    await shop.run({ kind: 'failed-checkout', orders: [ORDER] });
    expect(await shopAgainstLedger(pool)).toEqual({ lost: 0, uncalled: 0 });
    const { rows } = await pool.query('select from sendledger.outbound_message');
    expect(rows).toHaveLength(0);
    await shop.run({ kind: 'checkout', orders: [ORDER] });
    await shop.run({ kind: 'repeated-call', orders: [ORDER] });
    await shop.close();
    expect(shop.counts).toEqual({ created: 3, repeated: 1, rolledBack: 1 });
    expect(await shopAgainstLedger(pool)).toEqual({ lost: 3, uncalled: 0 });
  });
});

describe('the gateway against the ledger', () => {
  test('what it accepted beyond our rows is a duplicate', async ({ freshDatabase: { pool, url } }) => {
    await furnish(url, 1);
    const shop = new Shop(url, null);
    const announcement = { kind: 'announcement', id: 'A-1', text: 'Sale', phones: ['+919876520001'] } as const;
    await shop.run(announcement);
    await shop.close();
    await send('919876520001', 'Sale');
    // Accepted, while the ledger says that it still waits.
    expect(await duplicates(pool, simulator.url)).toBe(1);
    // What may have been sent, the gateway may have accepted once. Past the guards: there is no legal way there in one step.
    await pool.query(
      `alter table sendledger.outbound_message disable trigger user;
       update sendledger.outbound_message set state = 'unknown', state_reason = 'test'`,
    );
    expect(await duplicates(pool, simulator.url)).toBe(0);
    await send('919876520001', 'Sale');
    expect(await duplicates(pool, simulator.url)).toBe(1);
    // Another text to the same number is another message.
    await send('919876520001', 'Sale!');
    expect(await duplicates(pool, simulator.url)).toBe(2);
  });
});
