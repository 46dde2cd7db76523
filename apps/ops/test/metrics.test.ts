import { MESSAGE_CLASSES, MESSAGE_STATES } from '@sendledger/core';
import { addRoute, openReview, pauseLane, pauseRoute, readOverview, rowsOf } from '@sendledger/core/ledger';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { test } from '../../../infra/local/src/fixtures.ts';
import { importMessage, importSubmission } from '../../../packages/core/test/schema/rows.ts';
import { aDelivered, aScene } from './ledger-here.ts';
import { opsHere } from './ops-here.ts';

const WHATSAPP = {
  name: 'chat',
  provider: 'other',
  account: 'default',
  channel: 'whatsapp',
  maxBatch: 1,
  encodingRule: 'gsm7',
  providerZone: 'UTC',
  defaultSenderId: null,
  senderRequired: false,
  nationalDigits: null,
} as const;

const lane = (messageClass: string, channel: string) => `channel="${channel}",message_class="${messageClass}"`;

/** Some of each state, of two classes. */
async function fill(pool: pg.Pool, routeId: string): Promise<void> {
  const requested = new Date(Date.now() - 60_000);
  for (const [n, state] of MESSAGE_STATES.entries())
    for (let i = 0; i <= n % 3; i++) {
      const withSubmission = !['pending', 'superseded', 'cancelled', 'retry'].includes(state);
      const submission = withSubmission ? await importSubmission(pool, 'accepted', routeId) : null;
      await importMessage(pool, state, routeId, submission, {
        recipient: `91980000${String(n).padStart(2, '0')}${String(i).padStart(2, '0')}`,
        ...(withSubmission && state !== 'claimed' ? { requested_at: requested } : {}),
        ...(state === 'delivered' ? { delivered_at: new Date() } : {}),
        due_at: new Date(Date.now() - 120_000),
      });
    }
}

describe('the figures for Prometheus', () => {
  test('of an empty ledger: every lane and state is there, and zero', async ({ freshDatabase: database }) => {
    await aScene(database.pool);
    await addRoute(database.pool, WHATSAPP);
    const here = await opsHere(database);
    await here.counted();
    const series = await here.series();
    for (const channel of ['sms', 'whatsapp'])
      for (const messageClass of MESSAGE_CLASSES) {
        const of = lane(messageClass, channel);
        for (const state of MESSAGE_STATES) expect(series.get(`sendledger_messages{${of},state="${state}"}`)).toBe(0);
        for (const name of ['oldest_due_seconds', 'pending_ratio', 'unknown_ratio'])
          expect(series.get(`sendledger_${name}{${of}}`), name).toBe(0);
        for (const name of ['acceptance_seconds', 'delivery_seconds'])
          for (const quantile of ['0.5', '0.95'])
            expect(series.get(`sendledger_${name}{${of},quantile="${quantile}"}`), name).toBe(0);
        expect(series.get(`sendledger_lane_paused{message_class="${messageClass}",route="chat"}`)).toBe(0);
      }
    for (const name of ['last_receipt_seconds', 'reviews_open', 'reviews_oldest_seconds', 'default_partition_rows'])
      expect(series.get(`sendledger_${name}{}`), name).toBe(0);
    for (const name of ['route_breaker_open', 'route_paused', 'route_held', 'route_throttled'])
      expect(series.get(`sendledger_${name}{route="chat"}`), name).toBe(0);
    for (const app of ['claim', 'submit', 'reconcile', 'backfill'])
      expect(series.get(`sendledger_workers_alive{worker="${app}"}`)).toBe(0);
    expect(series.get('sendledger_ops_exporter{}')).toBe(1);
    expect(series.get('sendledger_dataset_ok{}')).toBe(1);
    await here.stop();
  });

  test('of a filled one: what the ledger says, and what the page says', async ({ freshDatabase: database }) => {
    const { pool } = database;
    const s = await aScene(pool);
    await aDelivered(pool, s, { recipient: '919812345678', body: 'x' });
    await fill(pool, s.routeId);
    await openReview(pool, { kind: 'no_rate', subject: 'a', evidence: {} });
    await pauseLane(pool, { routeId: s.routeId, messageClass: 'promotional' }, 'too <loud>');
    await pauseRoute(pool, s.routeId, 'maintenance');
    const here = await opsHere(database);
    await here.counted();
    const series = await here.series();
    const stored = await rowsOf<{ state: string; n: number }>(
      pool,
      `select state, count(*)::int as n from sendledger.outbound_message group by state`,
    );
    for (const { state, n } of stored)
      expect(series.get(`sendledger_messages{${lane('transactional', 'sms')},state="${state}"}`), state).toBe(n);

    const overview = await readOverview(pool);
    for (const cell of overview.cells) {
      const of = lane(cell.messageClass, cell.channel);
      expect(series.get(`sendledger_pending_ratio{${of}}`)).toBe(cell.pendingRatio);
      expect(series.get(`sendledger_unknown_ratio{${of}}`)).toBe(cell.unknownShare);
      expect(series.get(`sendledger_delivery_seconds{${of},quantile="0.95"}`)).toBe(cell.delivery?.p95 ?? 0);
    }
    const cell = overview.cells.find((one) => one.messageClass === 'transactional');
    expect(cell?.unknownShare).toBeGreaterThan(0);
    expect(cell?.pendingRatio).toBeGreaterThan(0);
    expect(cell?.oldestDueSeconds).toBeGreaterThan(100);
    expect(series.get(`sendledger_reviews_open{}`)).toBe(2);
    expect(series.get(`sendledger_reviews_open_by_kind{kind="no_rate"}`)).toBe(1);
    expect(series.get(`sendledger_route_paused{route="${s.name}"}`)).toBe(1);
    expect(series.get(`sendledger_lane_paused{message_class="promotional",route="${s.name}"}`)).toBe(1);
    expect(series.get('sendledger_receipt_age_seconds{source="poll"}')).toBeLessThan(60);
    expect(series.get('sendledger_receipt_age_seconds{source="push"}')).toBe(3_600);

    const { text } = await here.ask('/overview/figures');
    const rows = [...text.matchAll(/<tr>(.*?)<\/tr>/gs)].map((row) =>
      Object.fromEntries(
        [...(row[1] ?? '').matchAll(/<td data-title="([^"]*)"[^>]*>(.*?)<\/td>/gs)].map((c) => [c[1], c[2]]),
      ),
    );
    const shown: Record<string, string> = Object.assign(
      {},
      ...rows.filter((row) => row['Class and channel'] === 'transactional · sms'),
    );
    for (const { state, n } of stored) expect(shown[state], state).toBe(String(n));
    expect(text).toContain('maintenance');
    expect(text).toContain('promotional paused: too &lt;loud&gt;');
    expect(text).toContain('no_rate');
    await here.stop();
  });

  test('come from one process; when it goes, from another', async ({ freshDatabase: database }) => {
    await aScene(database.pool);
    const first = await opsHere(database);
    await first.counted();
    const second = await opsHere(database);
    await second.ask('/');
    const names = async (here: typeof first) =>
      [...(await here.series()).keys()].filter((key) => key.startsWith('sendledger_messages'));
    expect((await names(first)).length).toBeGreaterThan(0);
    expect(await names(second)).toEqual([]);
    expect((await second.series()).get('sendledger_ops_exporter{}')).toBe(0);
    // It shows what the other one counted.
    expect((await second.ask('/')).text).toContain('Counted');
    await first.stop();
    while ((await names(second)).length === 0) await new Promise((resolve) => setTimeout(resolve, 25));
    await second.stop();
  });

  test('the database away: said, with nothing that is not known', async ({ freshDatabase: database }) => {
    const here = await opsHere(database);
    await here.counted();
    const client = await database.pool.connect();
    await client.query(`revoke select on sendledger.lane from sendledger_ops`);
    const series = await here.series();
    expect(series.get('sendledger_ops_database_up{}')).toBe(0);
    expect(series.has('sendledger_reviews_open{}')).toBe(false);
    expect((await here.ask('/')).status).toBe(500);
    expect((await here.ask('/')).text).not.toContain('permission denied');
    await client.query('grant select on sendledger.lane to sendledger_ops');
    client.release();
    expect((await here.series()).get('sendledger_ops_database_up{}')).toBe(1);
    await here.stop();
  });
});
