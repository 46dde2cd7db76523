import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rowsOf } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

/** The `transactionId` as it stands in the reply's JSON, and what the row must hold. */
const CASES = [
  ['"6305583318236810379"', '6305583318236810379'],
  ['"0012345678901234567"', '0012345678901234567'],
  ['6305583318236810379', '6305583318236810379'],
  ['9223372036854775807', '9223372036854775807'],
  ['"0"', null],
  ['""', null],
  ['0', null],
] as const;

describe("a provider's id survives send → row → JSON → row", () => {
  test('19 digits quoted or not, leading zeros, and placeholders that are none', async ({
    freshDatabase: database,
  }) => {
    const waiting = CASES.map(([written]) => written);
    const provider = createServer((request, response) => {
      request.resume().on('end', () => {
        const id = waiting.shift() ?? '"none"';
        response.setHeader('content-type', 'text/html');
        response.end(
          `{"status":"success","mobile":"","invalidMobile":"","transactionId":${id},"statusCode":"200","reason":"success"}`,
        );
      });
    });
    provider.listen(0, '127.0.0.1');
    await once(provider, 'listening');
    await furnish(database);
    const url = urls(database);
    startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '60000' });
    startApp('submit', {
      DATABASE_URL: url.submit,
      SMSGATEWAYCENTER_BASE_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
      // One after another, so that the n-th message gets the n-th id.
      SENDLEDGER_SUBMIT_CONCURRENCY: '1',
    });
    for (const [i] of CASES.entries()) {
      await enqueueMany(database, 1, { class: 'otp', from: i });
      await until(async () => (await submitted()) === i + 1);
      const [row] = await rowsOf<{ id: string; provider_txn_id: string | null }>(
        database.pool,
        `select id, provider_txn_id from sendledger.outbound_message order by requested_at desc limit 1`,
      );
      if (row === undefined) throw new Error('no row');
      const expected = CASES[i]?.[1] ?? null;
      expect(row.provider_txn_id).toBe(expected);
      const through = JSON.parse(JSON.stringify(row)) as { id: string; provider_txn_id: string | null };
      expect(
        await rowsOf(
          database.pool,
          `select provider_txn_id from sendledger.outbound_message
           where id = $1 and provider_txn_id is not distinct from $2`,
          [through.id, through.provider_txn_id],
        ),
      ).toEqual([{ provider_txn_id: expected }]);
    }
    provider.close();

    async function submitted(): Promise<number> {
      const [row] = await rowsOf<{ n: number }>(
        database.pool,
        `select count(*)::int as n from sendledger.outbound_message where state = 'submitted'`,
      );
      return row?.n ?? 0;
    }
  });
});
