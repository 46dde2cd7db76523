import { durably, resolveReview, rowsOf } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { World, type WorldOptions } from './world.ts';

const TO = '919812345678';
/** Somebody else's number, sent to by another system that uses the account. */
const STRANGER = '919811111111';
const OTHERS = ['919800000001', '919800000002', '919800000003'] as const;

/** Messages that the provider accepts and answers, before and after what the test is about: what absence is measured by. */
async function knownBefore(world: World): Promise<void> {
  await world.send(OTHERS[0]);
  await world.send(OTHERS[1]);
  await world.look();
}
const knownAfter = (world: World) => world.send(OTHERS[2]);

describe('a request whose reply never came (FC-01)', () => {
  test('and that was accepted: the report proves it; billed once, no second copy', async ({
    freshDatabase: database,
  }) => {
    const world = await World.open(database);
    world.sim.faults.next('accept-then-hang');
    const sent = await world.send(TO, { patience: 'short' });
    expect(await world.row(sent)).toMatchObject({ state: 'unknown', cost: null, submission_state: 'ambiguous' });
    await world.look();
    await world.look();
    expect(await world.row(sent)).toMatchObject({
      state: 'delivered',
      cost: '0.1200',
      correlation_result: 'matched',
      submission_state: 'accepted',
      conflict: false,
    });
    const row = await world.row(sent);
    expect(row.provider_txn_id).toBe(world.sim.log.accepted({ mobile: TO })[0]?.transactionId);
    expect(row.provider_message_id).not.toBeNull();
    expect(row.correlation_window_ms).toBeGreaterThan(0);
    expect(world.sim.log.copies(TO, 'Your order is ready')).toBe(1);
    expect(await world.reviews()).toEqual([]);
    await world.close();
  });

  test('a report whose records carry no transaction: found by recipient, sender and time alone', async ({
    freshDatabase: database,
  }) => {
    const world = await World.open(database, { sim: { dlrTxnIds: false } });
    world.sim.faults.next('accept-then-hang');
    const sent = await world.send(TO, { patience: 'short' });
    await world.look();
    expect(await world.row(sent)).toMatchObject({ state: 'delivered', cost: '0.1200', provider_txn_id: null });
    await world.close();
  });
});

describe('two codes to one number, both without a reply', () => {
  test('both accepted: ambiguous for each, a review item each, and they are settled together', async ({
    freshDatabase: database,
  }) => {
    const world = await World.open(database);
    world.sim.faults.next('accept-then-hang', 2);
    const first = await world.send(TO, { messageClass: 'otp', patience: 'short', body: 'Code 111111' });
    const second = await world.send(TO, { messageClass: 'otp', patience: 'short', body: 'Code 222222' });
    await world.look();
    await world.look();
    const unknown = { state: 'unknown', cost: null, correlation_result: 'ambiguous' };
    expect(await world.row(first)).toMatchObject(unknown);
    expect(await world.row(second)).toMatchObject(unknown);
    const reviews = await world.reviews();
    expect(reviews.map((r) => [r.kind, r.message_id])).toEqual([
      ['correlation_ambiguous', first.id],
      ['correlation_ambiguous', second.id],
    ]);
    for (const { evidence } of reviews) {
      expect(evidence).toMatchObject({ rows: 2, records: 2 });
      expect((evidence.messages as { id: string }[]).map((m) => m.id)).toEqual([first.id, second.id]);
      // What a person is shown holds no code.
      expect(JSON.stringify(evidence)).not.toMatch(/111111|222222/);
    }
    const [item] = await rowsOf<{ id: string }>(
      database.pool,
      'select id from sendledger.review_item order by id limit 1',
    );
    const decision = { id: item?.id ?? '', as: 'sent', by: 'meera', why: 'the provider shows both' } as const;
    expect(await durably(database.pool, (sql) => resolveReview(sql, decision))).toMatchObject({ answer: 'resolved' });
    const settled = { state: 'submitted', state_reason: 'review_sent', cost: '0.1200' };
    expect(await world.row(first)).toMatchObject(settled);
    expect(await world.row(second)).toMatchObject(settled);
    await world.close();
  });

  test('one of them accepted: ambiguous for both, and nothing offers to settle them together', async ({
    freshDatabase: database,
  }) => {
    const world = await World.open(database);
    world.sim.faults.next('accept-then-hang');
    const first = await world.send(TO, { messageClass: 'otp', patience: 'short', body: 'Code 111111' });
    world.sim.faults.next('hang-before-accept');
    const second = await world.send(TO, { messageClass: 'otp', patience: 'short', body: 'Code 222222' });
    await world.look();
    for (const sent of [first, second])
      expect(await world.row(sent)).toMatchObject({ state: 'unknown', correlation_result: 'ambiguous' });
    for (const { evidence } of await world.reviews()) {
      expect(evidence).toMatchObject({ rows: 2, records: 1 });
      expect(evidence).not.toHaveProperty('messages');
    }
    await world.close();
  });
});

test('another request that overtook it says nothing: it was marked while this one was on its way', async ({
  freshDatabase: database,
}) => {
  const world = await World.open(database, { tamper: (record) => (record.recipient === TO ? null : record) });
  await knownBefore(world);
  world.sim.faults.next('accept-then-hang');
  const sent = await world.mark(TO);
  const losing = world.request(sent, 'short');
  await knownAfter(world);
  await losing;
  await world.workerEnds();
  await world.look();
  expect(await world.row(sent)).toMatchObject({ state: 'unknown', correlation_result: 'not_found' });
  const [review] = await world.reviews();
  expect(review?.evidence.doubts).toEqual(['nothing_known_after']);
  await world.close();
});

test('a second record of a message that is known is never taken for another message', async ({
  freshDatabase: database,
}) => {
  const world = await World.open(database, { sim: { dlrTxnIds: false } });
  world.sim.delivery.doubleReport(new RegExp(TO));
  await world.send(TO);
  await world.look();
  world.sim.faults.next('hang-before-accept');
  const second = await world.send(TO, { patience: 'short', body: 'Your order has left' });
  await world.look();
  await world.look();
  expect(world.sim.log.copies(TO, 'Your order has left')).toBe(0);
  expect(await world.row(second)).toMatchObject({ state: 'unknown', cost: null });
  await world.close();
});

describe('a request that was refused before its reply was lost', () => {
  test('with sends known accepted around it: proven not submitted, and sent again in the same transaction', async ({
    freshDatabase: database,
  }) => {
    const world = await World.open(database);
    await knownBefore(world);
    world.sim.faults.next('hang-before-accept');
    const sent = await world.send(TO, { patience: 'short' });
    await knownAfter(world);
    await world.workerEnds();
    await world.look();
    expect(await world.row(sent)).toMatchObject({
      state: 'failed',
      state_reason: 'proven_not_submitted',
      cost: null,
      correlation_result: 'not_found',
      submission_state: 'not_sent',
    });
    expect(await world.successorsOf(sent)).toMatchObject([{ state: 'pending' }]);
    expect(await world.reviews()).toEqual([]);
    await world.close();
  });

  test('a one-time password is never sent again by itself', async ({ freshDatabase: database }) => {
    const world = await World.open(database);
    await knownBefore(world);
    world.sim.faults.next('hang-before-accept');
    const sent = await world.send(TO, { messageClass: 'otp', patience: 'short' });
    await knownAfter(world);
    await world.workerEnds();
    await world.look();
    expect(await world.row(sent)).toMatchObject({ state: 'failed', state_reason: 'proven_not_submitted' });
    expect(await world.successorsOf(sent)).toEqual([]);
    await world.close();
  });

  interface Doubt {
    readonly name: string;
    /** What stands in the way, and nothing else does; none: nobody is asked yet. */
    readonly says: readonly string[];
    readonly options?: WorldOptions;
    readonly before?: boolean;
    readonly after?: boolean;
    readonly ends?: boolean;
    readonly prepare?: (world: World) => Promise<unknown> | unknown;
  }
  const doubts: readonly Doubt[] = [
    {
      name: 'nothing known before it',
      says: ['nothing_known_before'],
      before: false,
      prepare: (world) => world.send(OTHERS[0]),
    },
    { name: 'nothing known after it: the report may lag', says: ['nothing_known_after'], after: false },
    {
      name: 'nothing known at all',
      says: ['nothing_known_before', 'nothing_known_after', 'clock_unknown'],
      before: false,
      after: false,
    },
    { name: 'its worker may still hold the request', says: ['worker_may_hold_it'], ends: false },
    { name: 'the time to settle is not over', says: [], options: { settleWithin: '1 hour' } },
    {
      name: 'the report lags: what is known to be accepted is not in it yet',
      says: ['known_missing'],
      prepare: (world) =>
        world.database.pool.query(
          'update sendledger.route set clock_offset_ms = 0, clock_pairs = 9, clock_seen_at = now()',
        ),
      options: { sim: { visibilityLagMs: 3_600_000 } },
    },
    {
      name: "the provider's clock is in another zone, five and a half hours away",
      says: ['clock_off'],
      options: { sim: { zone: 'UTC' }, routeZone: 'Asia/Kolkata' },
    },
    {
      name: 'a record names no readable number: it may be this one',
      says: ['loose_records'],
      options: { tamper: (record) => (record.recipient === STRANGER ? { ...record, recipient: null } : record) },
      before: true,
      prepare: (world) => world.stranger(STRANGER),
    },
    {
      name: 'a record of that number names a sender spelt otherwise',
      says: ['loose_records'],
      options: {
        tamper: (record) =>
          record.recipient === STRANGER ? { ...record, recipient: TO, senderId: 'VM-SHOPIN' } : record,
      },
      prepare: (world) => world.stranger(STRANGER),
    },
    {
      name: 'a receipt of that number waits, and matches nothing yet',
      says: ['receipt_waiting'],
      prepare: (world) =>
        world.database.pool.query(
          `insert into sendledger.delivery_receipt (dedupe_hash, route_id, source, recipient, status_word, status, hint, next_look_at)
           values ('\\x01', $1, 'push', $2, 'x', 'open', true, 'infinity')`,
          [world.routeId, TO],
        ),
    },
    {
      name: 'our own reply named a transaction',
      says: ['transaction_named'],
      prepare: (world) =>
        world.database.pool.query(
          `update sendledger.submission set provider_txn_id = '6305583318236810379' where state = 'ambiguous'`,
        ),
    },
    {
      name: "the provider's clock is not known",
      says: ['clock_unknown'],
      prepare: (world) =>
        world.database.pool.query(
          'update sendledger.route set clock_offset_ms = null, clock_pairs = 0, clock_seen_at = null',
        ),
    },
  ];
  for (const doubt of doubts)
    test(`stays unknown while ${doubt.name}`, async ({ freshDatabase: database }) => {
      const world = await World.open(database, doubt.options);
      if (doubt.before !== false) await knownBefore(world);
      world.sim.faults.next('hang-before-accept');
      const sent = await world.send(TO, { patience: 'short' });
      if (doubt.after !== false) await knownAfter(world);
      if (doubt.ends !== false) await world.workerEnds();
      await doubt.prepare?.(world);
      await world.look();
      expect(await world.row(sent)).toMatchObject({ state: 'unknown', correlation_result: 'not_found', cost: null });
      expect(await world.successorsOf(sent)).toEqual([]);
      const asked = (await world.reviews()).filter((review) => review.message_id === sent.id);
      expect(asked.map((review) => review.evidence.doubts)).toEqual(doubt.says.length === 0 ? [] : [doubt.says]);
      await world.close();
    });
});
