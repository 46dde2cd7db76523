import { rowsOf } from '@sendledger/core/ledger';
import { startGatewaySim } from '@sendledger/gateway-sim';
import { test } from '@sendledger/local/fixtures';
import { createProducer } from '@sendledger/producer';
import pg from 'pg';
import { afterEach, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { furnish, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';

afterEach(endAllApps);

const MESSAGES = 50_000;
const PER_TRANSACTION = 1_000;
const CANCELLED = ['c-1', 'c-2', 'c-3', 'c-4', 'c-5', 'c-6'];
/** Transactions of the fan-out before the first campaign is cancelled that has begun. */
const FIRST = 4;
const BODY = 'Everything is cheaper today';
/** Who sends what: the campaigns of the shop share their requests, because their text is the same. */
const SENDERS = [
  ...CANCELLED.map((campaign) => ({ tenant: 'shop', campaign })),
  { tenant: 'shop', campaign: 'kept' },
  { tenant: 'other', campaign: 'c-1' },
];

/** Requests that hold messages of several campaigns and have been answered. */
async function sharedRequests(sql: pg.Pool): Promise<number> {
  const [shared] = await rowsOf<{ mixed: number }>(
    sql,
    `select count(*)::int as mixed from (select from sendledger.outbound_message where state = 'submitted'
       group by submission_id having count(distinct campaign_id) > 1) x`,
  );
  return shared?.mixed ?? 0;
}

describe('FC-46: cancelling at random times during a fan-out of fifty thousand', () => {
  test('no request of a covered message is later than the answer; every message is accounted for; the others are sent', async ({
    freshDatabase: database,
  }) => {
    const sim = await startGatewaySim({ deliveryMs: { min: 600_000, max: 600_000 }, latencyMs: { min: 20, max: 60 } });
    await furnish(database, { maxBatch: 50 });
    // Claims run ahead of the requests, so that much is claimed and not marked when it is cancelled; and under a lease that lasts,
    // since nobody sweeps here.
    await database.pool.query('update sendledger.route set max_in_flight_requests = 6');
    const url = urls(database);
    const gateway = { SMSGATEWAYCENTER_BASE_URL: sim.url };
    for (let i = 0; i < 2; i++) startApp('claim', { DATABASE_URL: url.claim, SENDLEDGER_CLAIM_LEASE_MS: '120000' });
    for (let i = 0; i < 2; i++) startApp('submit', { ...gateway, DATABASE_URL: url.submit });
    const app = new pg.Pool({ connectionString: database.urlFor('sendledger_producer'), max: 8 });
    const producer = createProducer({ defaultRegion: 'IN' });
    try {
      const transactions = MESSAGES / PER_TRANSACTION;
      const each = PER_TRANSACTION / SENDERS.length;
      // One before anything is enqueued; the others while the fan-out runs, its end included, after some that share a request have left.
      const when = CANCELLED.map((_, i) =>
        i === 0 ? 0 : FIRST + Math.floor(Math.random() * (transactions + 1 - FIRST)),
      );
      const cancellations: Promise<readonly [string, Awaited<ReturnType<typeof producer.cancel>>]>[] = [];
      const cancelDue = (done: number) => {
        for (const [i, campaign] of CANCELLED.entries())
          if (when[i] === done)
            cancellations.push(
              producer
                .cancel(app, { tenant: 'shop', which: { campaign }, by: 'asha', why: 'the wrong price' })
                .then((report) => [campaign, report] as const),
            );
      };
      cancelDue(0);
      for (let done = 0; done < transactions; done++) {
        const messages = SENDERS.map(({ tenant, campaign }, sender) => ({
          tenant,
          campaign,
          class: 'promotional' as const,
          event: { type: 'sale', id: `${campaign}-${done}` },
          to: Array.from(
            { length: each },
            (_, i) => `+9198${String(10_000_000 + (done * SENDERS.length + sender) * each + i)}`,
          ),
          body: BODY,
        }));
        await producer.transaction(app, (tx) => producer.enqueue(tx, messages));
        if (done + 1 === FIRST) await until(async () => (await sharedRequests(database.pool)) > 0);
        cancelDue(done + 1);
      }
      const answers = new Map(await Promise.all(cancellations));
      expect(answers.size).toBe(CANCELLED.length);

      await until(async () => {
        const [row] = await rowsOf<{ open: boolean }>(
          database.pool,
          `select exists (select from sendledger.outbound_message where state in ('pending', 'claimed', 'retry')) as open`,
        );
        return row?.open === false;
      });
      const rows = await rowsOf<{ tenant: string; campaign: string; state: string; n: number; last: Date | null }>(
        database.pool,
        `select m.tenant_id as tenant, m.campaign_id as campaign, m.state::text as state, count(*)::int as n, max(s.requested_at) as last
         from sendledger.outbound_message m left join sendledger.submission s on s.id = m.submission_id and s.created_at = m.submission_created_at
         group by 1, 2, 3`,
      );
      const numberOf = (tenant: string, campaign: string, state: string) =>
        rows.find((row) => row.tenant === tenant && row.campaign === campaign && row.state === state)?.n ?? 0;

      for (const [campaign, report] of answers) {
        const sent = rows.find(
          (row) => row.tenant === 'shop' && row.campaign === campaign && row.state === 'submitted',
        );
        const late = (sent?.last?.getTime() ?? 0) - (report.answeredAt?.getTime() ?? 0);
        expect([campaign, Math.max(0, late)]).toEqual([campaign, 0]);
        // What had left was said, to the row; of the rest none did.
        expect([campaign, sent?.n ?? 0]).toEqual([campaign, report.counts.too_late]);
        expect([campaign, report.counts.unknown]).toEqual([campaign, 0]);
        expect(numberOf('shop', campaign, 'cancelled')).toBe(MESSAGES / SENDERS.length - report.counts.too_late);
      }
      for (const [tenant, campaign] of [
        ['shop', 'kept'],
        ['other', 'c-1'],
      ] as const)
        expect([tenant, campaign, numberOf(tenant, campaign, 'submitted')]).toEqual([
          tenant,
          campaign,
          MESSAGES / SENDERS.length,
        ]);
      expect(rows.reduce((sum, row) => sum + row.n, 0)).toBe(MESSAGES);
      const submitted = rows.reduce((sum, row) => sum + (row.state === 'submitted' ? row.n : 0), 0);
      expect(sim.log.counts()).toMatchObject({ accepted: submitted, duplicates: 0 });
    } finally {
      await producer.close();
      await app.end();
      await sim.close();
    }
  });
});
