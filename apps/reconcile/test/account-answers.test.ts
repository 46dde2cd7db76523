import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rowsOf } from '@sendledger/core/ledger';
import { createSmsGatewayCenter } from '@sendledger/gateway';
import type pg from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { accountRound } from '../src/account-watch.ts';
import { aRoute } from './accepted-submission.ts';
import { contextOf } from './app-context.ts';
import { ACCOUNT } from './push-here.ts';

const balance = (smsBalance: string, userCreditType?: string) =>
  JSON.stringify({ response: { status: 'success', code: '200', account: { smsBalance, userCreditType } } });
const error = (statusCode: string) => JSON.stringify({ status: 'error', statusCode, reason: 'words' });

/** What the watch makes of a provider that answers the free call so. */
async function breakerAfter(pool: pg.Pool, body: string, extraCodes = {}) {
  const server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const adapter = createSmsGatewayCenter({
    ...{ baseUrl: `http://127.0.0.1:${port}`, userid: 'demo', password: 'demopassword', extraCodes },
  });
  onTestFinished(() => {
    adapter.close();
    server.closeAllConnections();
    server.close();
  });
  await aRoute(pool, 'default');
  await accountRound(await contextOf(pool), new Map([[ACCOUNT, adapter]]))();
  const [row] = await rowsOf<{ state: string }>(pool, 'select breaker_state as state from sendledger.route');
  return row?.state;
}

describe('the watch on the account opens breakers', () => {
  for (const [
    what,
    body,
  ] of Object.entries({ 'a code of the account': error('216'), 'a prepaid account that is empty': balance('0', '1') })) // biome-ignore format: one row
    test(`by ${what}`, async ({ freshDatabase: { pool } }) => {
      expect(await breakerAfter(pool, body)).toBe('open');
    });
  test('by a code that was configured to be about the account', async ({ freshDatabase: { pool } }) => {
    expect(await breakerAfter(pool, error('991'), { 991: 'account' })).toBe('open');
  });
});

describe('and not', () => {
  for (const [what, body] of Object.entries({
    'by a code that nobody has mapped': error('991'),
    'by a code about the request': error('213'),
    'by an error without a code': '{"status":"error"}',
    'by a postpaid account with nothing on it': balance('0', '3'),
    'by an account of unknown kind with nothing on it': balance('-4.50'),
  }))
    test(what, async ({ freshDatabase: { pool } }) => {
      expect(await breakerAfter(pool, body)).toBe('closed');
    });
});
