import { cancelMessage, replay, rowsOf } from '@sendledger/core/ledger';
import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { test as base } from '../../../infra/local/src/fixtures.ts';
import { enqueue } from '../../../packages/core/test/ledger/scene.ts';
import { aDelivered, aScene, HOSTILE, type Told } from './ledger-here.ts';
import { type OpsHere, opsHere } from './ops-here.ts';

interface House {
  readonly pool: pg.Pool;
  readonly here: OpsHere;
  readonly route: string;
  /** A message whose every field is hostile. */
  readonly hostile: Told;
  readonly code: Told;
  readonly plain: Told;
}

const BODY = 'Your parcel is at the door';
const CODE = 'Your code is 482913';

const test = base.extend('house', { scope: 'file' }, async ({ database }, { onCleanup }): Promise<House> => {
  const { pool } = database;
  const s = await aScene(pool);
  await pool.query(`insert into sendledger.tenant (tenant_id, default_region) values ('shop', 'IN')`);
  const hostile = await aDelivered(pool, s, {
    recipient: '919876543210',
    body: `${BODY} ${HOSTILE}`,
    words: HOSTILE,
    txn: 't<u>1',
  });
  const plain = await aDelivered(pool, s, { recipient: '919812345678', body: BODY });
  const code = await aDelivered(pool, s, { recipient: '919800000001', body: CODE, messageClass: 'otp' });
  const here = await opsHere(database);
  onCleanup(() => here.stop());
  return { pool, here, route: s.name, hostile, code, plain };
});

const story = async (here: OpsHere, id: string, reveal = '') => (await here.ask(`/messages/${id}${reveal}`)).text;

describe('finding', () => {
  test('by whatever a person has, closed as the message is', async ({ house: { here, plain } }) => {
    const wanted = [
      plain.id,
      plain.attempt_key,
      plain.attempt_key.toUpperCase(),
      plain.business_key,
      plain.event_id,
      plain.provider_txn_id,
      plain.provider_message_id,
      plain.recipient,
      `+${plain.recipient}`,
      '+91 98123 45678',
      '9812345678',
      '098123 45678',
      `  ${plain.id} `,
    ];
    for (const one of wanted) {
      const { status, headers } = await here.ask(`/messages?q=${encodeURIComponent(one)}`);
      expect([status, headers.location], one).toEqual([303, `/messages/${plain.id}`]);
    }
  });

  test('several that fit are listed, the newest first, and masked', async ({ house: { here, pool, route, plain } }) => {
    const again = await enqueue(pool, [
      { route, recipient: plain.recipient },
      { route, recipient: plain.recipient },
    ]);
    const { status, text } = await here.ask('/messages?q=9812345678');
    expect(status).toBe(200);
    expect([...text.matchAll(/href="\/messages\/(\d+)"/g)].map((match) => match[1])).toEqual([
      ...again.map(({ id }) => id).toSorted((a, b) => Number(b) - Number(a)),
      plain.id,
    ]);
    expect(text).toContain('9198******78');
  });

  test('nothing, and nonsense, is an answer and no error', async ({ house: { here } }) => {
    for (const one of [
      '',
      'nobody',
      '0',
      '9'.repeat(18),
      '9'.repeat(300),
      'x'.repeat(1000),
      '\u0000',
      '%00',
      "'; drop",
      '<script>',
      'e'.repeat(64),
      'ffffffff-ffff-8fff-bfff-ffffffffffff',
    ])
      expect((await here.ask(`/messages?q=${encodeURIComponent(one)}`)).status, one).toBe(200);
    for (const path of [
      '/messages?q=a&q=b',
      '/messages/x',
      '/messages/0',
      `/messages/${'9'.repeat(19)}`,
      '/messages/%00',
      '/messages/1;2',
    ])
      expect([200, 404, 400], path).toContain((await here.ask(path)).status);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 80 }), async (text) => {
        const { status } = await here.ask(`/messages?q=${encodeURIComponent(text.toWellFormed())}`);
        expect([200, 303]).toContain(status);
      }),
      { numRuns: 50 },
    );
  });
});

describe("a message's story", () => {
  test('in order, with what the provider wrote and what persons decided', async ({ house: { here, plain, pool } }) => {
    const page = await story(here, plain.id);
    const steps = [...page.matchAll(/<\/time><b>(\w+)<\/b>/g)].map((match) => match[1]);
    expect(steps).toEqual([
      'enqueued',
      'claimed',
      'quoted',
      'marked',
      'reply',
      'submitted',
      'receipt',
      'delivered',
      'review',
    ]);
    expect(page).toContain('0.1225 INR');
    expect(page).toContain('as the provider wrote it');
    expect(page).toContain('sendledger review show');
    await pool.query(
      `insert into sendledger.audit_log (who, action, subject, message_id, message_created_at, why)
       select 'asha', 'looked_at', 'message', id, created_at, 'a customer asked' from sendledger.outbound_message where id = $1`,
      [plain.id],
    );
    expect(await story(here, plain.id)).toContain('looked_at by asha, a customer asked');
  });

  test('what it replaces and what replaced it, and that it was cancelled', async ({ house: { here, pool, route } }) => {
    const [first] = await enqueue(pool, [{ route, recipient: '919833333333' }]);
    if (first === undefined) throw new Error('nothing enqueued');
    await cancelMessage(pool, { message: first, tenantId: 'shop', requestedBy: 'asha', reason: 'wrong price' });
    const again = await replay(pool, { message: first, who: 'asha', why: 'right price' });
    const before = await story(here, first.id);
    const [second] = await rowsOf<{ id: string }>(
      pool,
      'select id from sendledger.outbound_message where replaces_id = $1',
      [first.id],
    );
    expect(again).toMatchObject({ answer: 'created' });
    expect(before).toContain('wrong price');
    expect(before).toContain(`by message ${second?.id}`);
    expect(before).toContain(`href="/messages/${second?.id}"`);
    const after = await story(here, second?.id ?? '');
    const [{ event_id } = { event_id: '' }] = await rowsOf<{ event_id: string }>(
      pool,
      'select event_id from sendledger.outbound_message where id = $1',
      [first.id],
    );
    const found = (await here.ask(`/messages?q=${event_id}`)).text;
    expect([...found.matchAll(/href="\/messages\/(\d+)"/g)].map((match) => match[1])).toEqual([second?.id, first.id]);
    expect(after).toContain(`in place of message ${first.id}`);
    expect(after).toContain(`href="/messages/${first.id}"`);
  });
});

describe('what a page gives away', () => {
  test('no page shows a whole number unless it was asked for, in whatever form it was written', async ({ house }) => {
    const { here, hostile, plain, code } = house;
    const pages = new Map<string, string>();
    for (const told of [hostile, plain, code])
      for (const path of [
        `/messages/${told.id}`,
        `/messages?q=${told.recipient}`,
        `/messages?q=${encodeURIComponent(told.event_id)}`,
        `/messages/${told.id}?reveal=0`,
        `/messages/${told.id}?reveal=`,
      ])
        pages.set(path, (await here.ask(path)).text);
    for (const path of ['/', '/overview/figures', '/metrics', '/queues']) pages.set(path, (await here.ask(path)).text);
    for (const [path, text] of pages)
      for (const { recipient } of [hostile, plain, code]) {
        // Ids of ours may hold these digits by chance only if they were as long.
        const digits = text.replace(/[ ().-]/g, '');
        expect(digits.includes(recipient.slice(-10)), path).toBe(false);
      }
    for (const line of here.log)
      for (const { recipient } of [hostile, plain, code]) expect(line).not.toContain(recipient.slice(-10));
  });

  test('asked for, it is shown, and who asked stays in the log; a one-time password is shown to nobody', async ({
    house,
  }) => {
    const { here, plain, code } = house;
    expect(await story(here, plain.id)).not.toContain(BODY);
    const before = here.log.filter((line) => line.includes('numbers_revealed')).length;
    const revealed = await story(here, plain.id, '?reveal=1');
    for (const shown of [plain.recipient, BODY, `+${plain.recipient}`]) expect(revealed).toContain(shown);
    const lines = here.log.filter((line) => line.includes('numbers_revealed'));
    expect(lines).toHaveLength(before + 1);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ message: plain.id, operator: null });
    for (const reveal of ['', '?reveal=1']) {
      const page = await story(here, code.id, reveal);
      expect(page).not.toContain('482913');
      expect(page).toContain('shown to nobody');
    }
    expect(JSON.stringify(here.log)).not.toContain(BODY);
  });

  test('words of others are text, wherever they stand', async ({ house: { here, hostile } }) => {
    for (const path of [
      `/messages/${hostile.id}`,
      `/messages/${hostile.id}?reveal=1`,
      `/messages?q=${encodeURIComponent(HOSTILE)}`,
      '/messages?q=9198',
      '/',
    ]) {
      const { text } = await here.ask(path);
      expect(text).not.toMatch(/<script(?! src="\/static\/refresh\.js" defer>)/);
      expect(text).not.toContain('<img');
      expect(text).not.toMatch(/<u>|onerror=alert\(2\)>/);
    }
    const page = await story(here, hostile.id, '?reveal=1');
    expect(page.split('&lt;script&gt;alert(1)&lt;/script&gt;').length).toBeGreaterThan(8);
  });
});
