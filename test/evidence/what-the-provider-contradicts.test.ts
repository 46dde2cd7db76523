import { rowsOf } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { World } from './world.ts';

const TO = '919812345678';
const OTHER = '919800000001';
/** The simulator's numbers are as in its log, with the country code. */
const THAT_ONE = new RegExp(`^${TO}$`);

const receiptsOf = (world: World, txn: string | null) =>
  rowsOf<{ status: string; conflict: boolean; applied: boolean }>(
    world.database.pool,
    `select status, conflict, applied_at is not null as applied from sendledger.delivery_receipt
     where provider_txn_id = $1 order by id`,
    [txn],
  );

describe('two finals that disagree (FC-28)', () => {
  for (const [first, second] of [
    ['delivered', 'failed'],
    ['failed', 'delivered'],
  ] as const)
    for (const reply of ['came', 'never came'] as const)
      test(`${first}, then ${second}, of a request whose reply ${reply}: the first stands, and a person can see it`, async ({
        freshDatabase: database,
      }) => {
        const world = await World.open(database);
        const word = first === 'delivered' ? 'DELIVERED' : 'FAILED';
        world.sim.delivery.flip(THAT_ONE, { first: word, afterMs: 3_600_000 });
        if (reply === 'never came') world.sim.faults.next('accept-then-hang');
        const sent = await world.send(TO, { patience: reply === 'never came' ? 'short' : 'long' });
        await world.look();
        expect(await world.row(sent)).toMatchObject({ state: first, conflict: false, cost: '0.1200' });
        const before = await world.row(sent);

        // From now on the report says the other word.
        world.sim.delivery.flip(THAT_ONE, { first: word, afterMs: 0 });
        await world.hint(sent);
        await world.look();
        expect(await world.row(sent)).toEqual({ ...before, conflict: true });
        expect(await receiptsOf(world, before.provider_txn_id)).toEqual([
          { status: first, conflict: false, applied: true },
          { status: second, conflict: true, applied: true },
        ]);
        const asked = (await world.reviews()).map(({ kind, message_id }) => ({ kind, message_id }));
        expect(asked).toEqual([{ kind: 'receipt_conflict', message_id: sent.id }]);

        // And back again, as often as it likes: nothing more.
        world.sim.delivery.flip(THAT_ONE, { first: word, afterMs: 3_600_000 });
        await world.hint(sent);
        await world.look();
        expect(await world.row(sent)).toEqual({ ...before, conflict: true });
        expect(await world.reviews()).toHaveLength(1);
        await world.close();
      });
});

describe('a second message id for one row', () => {
  test('is an alarm and never an overwrite', async ({ freshDatabase: database }) => {
    const world = await World.open(database);
    world.sim.delivery.doubleReport(THAT_ONE);
    const sent = await world.send(TO);
    const quiet = await world.send(OTHER);
    await world.look();
    const row = await world.row(sent);
    expect(row).toMatchObject({ state: 'delivered', cost: '0.1200', conflict: false });
    expect(await world.row(quiet)).toMatchObject({ state: 'delivered' });
    const [review, ...others] = await world.reviews();
    expect(others).toEqual([]);
    expect(review).toMatchObject({ kind: 'second_provider_message', message_id: sent.id });
    expect(review?.evidence.first).toBe(row.provider_message_id);
    expect(review?.evidence.second).not.toBe(row.provider_message_id);
    const owners = () =>
      rowsOf<{ id: string; owner: string }>(
        database.pool,
        'select provider_message_id as id, message_id as owner from sendledger.provider_message where message_id = $1',
        [sent.id],
      );
    // Both are this row's: neither record can be taken for another message's.
    expect(new Set((await owners()).map((owner) => owner.id))).toEqual(
      new Set([row.provider_message_id, review?.evidence.second]),
    );

    // Read again, with the two in whatever order: what is known stays, and the question is one.
    await world.hint(sent);
    await world.look();
    expect(await world.row(sent)).toEqual(row);
    expect(await owners()).toHaveLength(2);
    expect(await world.reviews()).toHaveLength(1);
    // The second id is the provider's: one send of ours was charged.
    expect(world.sim.log.copies(TO, 'Your order is ready')).toBe(1);
    await world.close();
  });

  test('of a request whose reply never came: two records and one row are no match, and it stays unknown', async ({
    freshDatabase: database,
  }) => {
    const world = await World.open(database);
    world.sim.delivery.doubleReport(THAT_ONE);
    world.sim.faults.next('accept-then-hang');
    const sent = await world.send(TO, { patience: 'short' });
    await world.look();
    await world.look();
    expect(await world.row(sent)).toMatchObject({ state: 'unknown', cost: null, correlation_result: 'ambiguous' });
    const reviews = await world.reviews();
    expect(reviews.map(({ kind, evidence }) => ({ kind, rows: evidence.rows, records: evidence.records }))).toEqual([
      { kind: 'correlation_ambiguous', rows: 1, records: 2 },
    ]);
    await world.close();
  });
});
