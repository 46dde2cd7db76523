import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import { durably, lastReceiptSeconds, ReceiptWatch, receiptAges, recordReceipts } from '../../src/ledger/index.ts';
import { scene } from './scene.ts';

/** FC-33 */
describe('the age of the newest receipt', () => {
  test('by how it came: an hour where there is none, and never absent', async ({ freshDatabase: database }) => {
    const { pool } = database;
    const { routeId: route } = await scene(pool);
    const ops = new pg.Pool({ connectionString: database.urlFor('sendledger_ops'), max: 2 });
    const ages = new ReceiptWatch();
    const look = async () => {
      const { poll, push } = receiptAges(await ages.look(ops), new Date());
      return { poll, push };
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

    expect(await look()).toEqual({ poll: 3_600, push: 3_600 });
    expect(await lastReceiptSeconds(ops)).toBeNull();
    await receipt('push', 7_200);
    await receipt('poll', 50);
    const first = await look();
    expect(await lastReceiptSeconds(ops)).toBeCloseTo(first.poll, -1);
    expect(first.push).toBe(3_600);
    expect(first.poll).toBeGreaterThanOrEqual(50);
    expect(first.poll).toBeLessThan(3_600);

    await receipt('push', 0);
    await receipt('poll', 40);
    const second = await look();
    // Pushes go on.
    expect(second.push).toBeLessThan(second.poll);
    // Nothing new: what was seen is remembered, and grows old.
    const third = await look();
    expect(third.push).toBeGreaterThanOrEqual(second.push);
    expect(third.poll).toBeGreaterThanOrEqual(second.poll);
    await ops.end();
  });
});
