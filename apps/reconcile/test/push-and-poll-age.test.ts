import { randomUUID } from 'node:crypto';
import { durably, recordReceipts } from '@sendledger/core/ledger';
import pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { receiptAge } from '../src/receipt-age.ts';
import { aRoute } from './accepted-submission.ts';
import { contextOf } from './app-context.ts';

/** FC-33 */
describe('the age of the newest receipt', () => {
  test('by how it came: an hour where there is none, and never absent', async ({ freshDatabase: database }) => {
    const { pool } = database;
    const route = await aRoute(pool, 'default');
    const reconcile = new pg.Pool({ connectionString: database.urlFor('sendledger_reconcile'), max: 2 });
    const context = await contextOf(reconcile);
    const look = receiptAge(context);
    const ages = async () => {
      const text = await context.registry.metrics();
      const of = (source: string) =>
        Number(
          text
            .split('\n')
            .find((l) => l.startsWith(`sendledger_receipt_age_seconds{source="${source}"}`))
            ?.split(' ')
            .at(-1),
        );
      return { poll: of('poll'), push: of('push') };
    };
    const receipt = (source: 'poll' | 'push', ageSeconds: number) =>
      durably(pool, async (sql) => {
        const { hashes } = await recordReceipts(
          sql,
          { routeId: route, provider: 'smsgatewaycenter', account: 'default', source },
          [
            {
              providerTxnId: randomUUID(),
              providerMessageId: null,
              recipient: '919000000001',
              senderId: null,
              statusWord: 'DELIVRD',
              status: 'delivered',
              cause: null,
              causeClass: 'none',
              submittedAt: null,
              deliveredAt: null,
              evidence: {},
            },
          ],
        );
        // A receipt is never changed, so this one is written back in time beside the guard.
        await sql.query('set local session_replication_role = replica');
        await sql.query(
          `update sendledger.delivery_receipt set received_at = now() - $2 * interval '1 s' where dedupe_hash = $1`,
          [hashes[0], ageSeconds],
        );
      });

    expect(await ages()).toEqual({ poll: 3_600, push: 3_600 });
    await look();
    expect(await ages()).toEqual({ poll: 3_600, push: 3_600 });
    await receipt('push', 7_200);
    await receipt('poll', 50);
    await look();
    const first = await ages();
    expect(first.push).toBe(3_600);
    expect(first.poll).toBeGreaterThanOrEqual(50);
    expect(first.poll).toBeLessThan(3_600);

    await receipt('push', 0);
    await receipt('poll', 40);
    await look();
    const second = await ages();
    // Pushes go on.
    expect(second.push).toBeLessThan(second.poll);
    // Nothing new: what was seen is remembered, and grows old.
    await look();
    const third = await ages();
    expect(third.push).toBeGreaterThanOrEqual(second.push);
    expect(third.poll).toBeGreaterThanOrEqual(second.poll);
    await reconcile.end();
  });
});
