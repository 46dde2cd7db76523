import { rowsOf } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { World } from './world.ts';

const TO = '919812345678';
const OTHERS = ['919800000001', '919800000002', '919800000003'] as const;

/** A message that the provider took, whose record its report shows only when `shown` is set. */
async function calledAbsent(world: World) {
  await world.send(OTHERS[0]);
  await world.send(OTHERS[1]);
  await world.look();
  world.sim.faults.next('accept-then-hang');
  const sent = await world.send(TO, { patience: 'short' });
  await world.send(OTHERS[2]);
  await world.workerEnds();
  await world.look();
  expect(await world.row(sent)).toMatchObject({ state: 'failed', state_reason: 'proven_not_submitted', cost: null });
  return sent;
}

describe('a message that was called absent, and whose record comes later', () => {
  test('is found by another look: billed once, flagged, and its unsent successor does not go out', async ({
    freshDatabase: database,
  }) => {
    let shown = false;
    const world = await World.open(database, {
      tamper: (record) => (record.recipient === TO && !shown ? null : record),
    });
    const sent = await calledAbsent(world);
    const [successor] = await world.successorsOf(sent);
    expect(successor).toMatchObject({ state: 'pending' });
    // Its next look is in a quarter of an hour, and finds nothing yet.
    await database.pool.query('update sendledger.absence_watch set next_look_at = now()');
    await world.look();
    expect(await world.row(sent)).toMatchObject({ state: 'failed', cost: null });
    shown = true;
    await database.pool.query('update sendledger.absence_watch set next_look_at = now()');
    await world.look();
    expect(await world.row(sent)).toMatchObject({ state: 'failed', cost: '0.1200', conflict: true });
    expect(await world.successorsOf(sent)).toMatchObject([{ state: 'cancelled' }]);
    expect((await world.reviews()).map((review) => review.kind)).toContain('billed_after_close');
    await world.close();
  });

  test('is looked for at once when a push names its number', async ({ freshDatabase: database }) => {
    let shown = false;
    const world = await World.open(database, {
      tamper: (record) => (record.recipient === TO && !shown ? null : record),
    });
    const sent = await calledAbsent(world);
    shown = true;
    const [record] = world.sim.log.accepted({ mobile: TO });
    await world.keeper.keep(
      { routeId: world.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'push', hint: true },
      [
        {
          providerTxnId: record?.transactionId ?? null,
          providerMessageId: 'unheard-of',
          recipient: TO,
          senderId: null,
          statusWord: 'ErrorCode 0',
          status: 'delivered',
          cause: null,
          causeClass: null,
          submittedAt: null,
          deliveredAt: null,
          evidence: {},
        },
      ],
    );
    // The hint itself moved nothing.
    expect(await world.row(sent)).toMatchObject({ cost: null });
    await world.look();
    expect(await world.row(sent)).toMatchObject({ state: 'failed', cost: '0.1200', conflict: true });
    await world.close();
  });

  test('is forgotten after two days', async ({ freshDatabase: database }) => {
    const world = await World.open(database, { tamper: (record) => (record.recipient === TO ? null : record) });
    await calledAbsent(world);
    await database.pool.query(
      `update sendledger.absence_watch set until = now() - interval '1 s', next_look_at = now()`,
    );
    await world.look();
    expect(await rowsOf(database.pool, 'select 1 from sendledger.absence_watch')).toEqual([]);
    await world.close();
  });
});
