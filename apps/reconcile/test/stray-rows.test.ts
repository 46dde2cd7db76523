import { randomUUID } from 'node:crypto';
import { strayRows } from '@sendledger/core/ledger';
import pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { upkeepRound } from '../src/upkeep.ts';
import { aRoute } from './accepted-submission.ts';
import { contextOf } from './app-context.ts';

/** Months ahead of which the template has fewer, so that one of them has to be made. */
const AHEAD = 6;

const monthIsThere = async (pool: pg.Pool, leaf: string) =>
  (await pool.query('select to_regclass($1) is not null as there', [`sendledger.${leaf}`])).rows[0]?.there === true;

describe('the upkeep, as the reconcile role', () => {
  for (const table of ['outbound_message', 'submission'] as const)
    test(`goes on beside a stray row of ${table}, which is measured, although the months cannot be made because of it`, async ({
      freshDatabase: database,
    }) => {
      const routeId = await aRoute(database.pool, 'default');
      const last = new Date();
      last.setUTCDate(1);
      last.setUTCMonth(last.getUTCMonth() + AHEAD);
      const leaf = `${table}_${last.toISOString().slice(0, 7).replace('-', '_')}`;
      expect(await monthIsThere(database.pool, leaf)).toBe(false);

      const reconcile = new pg.Pool({ connectionString: database.urlFor('sendledger_reconcile'), max: 2 });
      const ops = new pg.Pool({ connectionString: database.urlFor('sendledger_ops'), max: 1 });
      const importer = new pg.Pool({ connectionString: database.urlFor('sendledger_import'), max: 1 });
      try {
        const context = await contextOf(reconcile);
        const round = upkeepRound(context, AHEAD);
        if (table === 'outbound_message')
          await importer.query(
            `insert into sendledger.outbound_message (created_at, tenant_id, business_key, event_type, event_id, channel, message_class,
               recipient, route_id, provider, body, encoding, segments, due_at, submit_by)
             values ($1, 'shop', $2, 'order', 'o1', 'sms', 'transactional', '919999999999', $3, 'smsgatewaycenter', 'x', 'GSM7', 1, now(), now())`,
            [last, randomUUID(), routeId],
          );
        else
          await importer.query(
            `insert into sendledger.submission (created_at, route_id, message_class, size, epoch_no, not_after, claimed_by, lease_until)
             values ($1, $2, 'transactional', 1, 1, now(), 1, now())`,
            [last, routeId],
          );
        expect(await round()).toBe('none');
        expect(await strayRows(ops)).toBe(1);
        expect(await monthIsThere(database.pool, leaf)).toBe(false);

        // A person has put it where it belongs: the next upkeep makes the months and ends the alarm.
        await database.pool.query(`set session_replication_role = replica; delete from sendledger.${table}_default;
          set session_replication_role = origin`);
        expect(await round()).toBe('none');
        expect(await strayRows(ops)).toBe(0);
        expect(await monthIsThere(database.pool, leaf)).toBe(true);
      } finally {
        await reconcile.end();
        await ops.end();
        await importer.end();
      }
    });
});
