import { cancelCovered, durably, rowsOf } from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { until } from '../support/settled.ts';
import { type Sent, World, type WorldOptions } from './world.ts';

const TO = '919812345678';
const OTHER = '919812345679';
const HOUR = 3_600_000;
/** Whole seconds: what the provider can be told. */
const inHours = (hours: number) => new Date(Math.ceil((Date.now() + hours * HOUR) / 1_000) * 1_000);

async function holding(database: Parameters<typeof World.open>[0], options: WorldOptions = {}): Promise<World> {
  const world = await World.open(database, options);
  await database.pool.query(`update sendledger.route set schedule_lead = interval '1 second', max_batch = 10`);
  return world;
}

const cancelled = (world: World, message: Sent) =>
  cancelCovered((work) => durably(world.database.pool, work), {
    tenantId: 'shop',
    target: { kind: 'message', messageId: message.id },
    by: 'a person',
    why: 'a typing error',
  });

async function changes(world: World) {
  return rowsOf<{ kind: string; state: string; asks: number }>(
    world.database.pool,
    'select kind, state, asks from sendledger.schedule_change order by id',
  );
}

const move = (world: World, message: Sent, to: Date, whole = false) =>
  rowsOf<{ answer: string }>(
    world.database.pool,
    `select answer from sendledger.move_schedule('shop', $1, $2, null, $3, 'a person', 'it is better then')`,
    [message.id, to.toISOString(), whole],
  );

const schedule = async (world: World, message: Sent) =>
  (
    await rowsOf<{ scheduled_for: Date; receipt_by: Date; poll_at: Date | null }>(
      world.database.pool,
      `select m.scheduled_for, m.receipt_by, s.poll_at from sendledger.outbound_message m join sendledger.submission s on s.id = m.submission_id where m.id = $1`,
      [message.id],
    )
  )[0];

describe('a message that the provider holds for later', () => {
  test('is submitted and paid for at once, with the id to take it back by, and its report is read after its time', async ({
    freshDatabase: database,
  }) => {
    const world = await holding(database);
    const at = inHours(2);
    const sent = await world.send(TO, { heldUntil: at });
    const row = await world.row(sent);
    expect(row).toMatchObject({ state: 'submitted', cost: '0.1200' });
    const [held] = world.sim.schedules.list();
    expect(held).toMatchObject({ uuId: row.provider_txn_id, scheduledAt: at.getTime(), total: 1 });
    const kept = await schedule(world, sent);
    expect(kept?.poll_at?.getTime()).toBeGreaterThanOrEqual(at.getTime() - 2_000);
    expect(kept?.receipt_by.getTime()).toBeGreaterThan(at.getTime());
    // It goes out, and that is what its report says then.
    world.sim.schedules.dispatch(row.provider_txn_id ?? '');
    await world.hint(sent);
    await until(async () => {
      await world.look();
      return (await world.row(sent)).state === 'delivered';
    });
    expect(world.sim.log.copies(TO, 'Your order is ready')).toBe(1);
    await world.close();
  });

  test('cancelled there: failed, its cost kept; the provider sends nothing', async ({ freshDatabase: database }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    const report = await cancelled(world, sent);
    // Here it is too late, and it is asked there.
    expect(report).toMatchObject({ counts: { too_late: 1, cancelled: 0 }, providerAsked: 1 });
    expect(report.rows).toMatchObject([{ id: sent.id, outcome: 'too_late', providerAsked: true }]);
    expect(await world.row(sent)).toMatchObject({ state: 'submitted' });
    await world.change();
    expect(await world.row(sent)).toMatchObject({
      state: 'failed',
      state_reason: 'cancelled_at_provider',
      cost: '0.1200',
      submission_state: 'accepted',
    });
    expect(await changes(world)).toEqual([{ kind: 'cancel', state: 'done', asks: 1 }]);
    expect(world.sim.schedules.list()[0]?.cancelledAt).not.toBeNull();
    // Asked for again it says the same, and nothing is asked of the provider.
    expect(await cancelled(world, sent)).toMatchObject({ counts: { too_late: 1 }, providerAsked: 0 });
    await world.close();
  });

  for (const fault of ['done-then-reset', 'done-then-502'] as const)
    test(`cancelled there, and the answer is lost (${fault}): the list shows that it was`, async ({
      freshDatabase: database,
    }) => {
      const world = await holding(database);
      const sent = await world.send(TO, { heldUntil: inHours(2) });
      await cancelled(world, sent);
      world.sim.schedules.faults.next(fault);
      await world.change();
      expect(await world.row(sent)).toMatchObject({ state: 'failed', state_reason: 'cancelled_at_provider' });
      await world.close();
    });

  test('it went out while it was being cancelled: what the provider says then is what counts', async ({
    freshDatabase: database,
  }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    await cancelled(world, sent);
    world.sim.schedules.dispatch((await world.row(sent)).provider_txn_id ?? '');
    await world.change();
    expect(await changes(world)).toMatchObject([{ kind: 'cancel', state: 'too_late' }]);
    expect(await world.row(sent)).toMatchObject({ state: 'submitted' });
    await world.hint(sent);
    await until(async () => {
      await world.look();
      return (await world.row(sent)).state === 'delivered';
    });
    await world.close();
  });

  test('nothing reached the provider: it is asked again', async ({ freshDatabase: database }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    await cancelled(world, sent);
    world.sim.schedules.faults.next('http-500', 2);
    await world.change();
    await world.change();
    expect(await changes(world)).toEqual([{ kind: 'cancel', state: 'asked', asks: 2 }]);
    expect(await world.row(sent)).toMatchObject({ state: 'submitted' });
    await world.change();
    expect(await world.row(sent)).toMatchObject({ state: 'failed', state_reason: 'cancelled_at_provider' });
    await world.close();
  });

  test('the provider refuses again and again: a person is asked, and nothing is said of the message', async ({
    freshDatabase: database,
  }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    await cancelled(world, sent);
    world.sim.schedules.faults.next('refuse', 10);
    for (let ask = 0; ask < 5; ask++) await world.change();
    expect(await changes(world)).toEqual([{ kind: 'cancel', state: 'refused', asks: 5 }]);
    expect(await world.row(sent)).toMatchObject({ state: 'submitted' });
    expect((await world.reviews()).map((item) => item.kind)).toEqual(['schedule_change_refused']);
    await world.close();
  });

  test('what was cancelled there and arrives all the same is a contradiction that somebody sees', async ({
    freshDatabase: database,
  }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    const txnId = (await world.row(sent)).provider_txn_id ?? '';
    await cancelled(world, sent);
    await world.change();
    // The provider says that it dropped it, and has a record of it later.
    const again = world.sim.schedules.find(txnId);
    if (again !== null) Object.assign(again, { cancelledAt: null, dispatchedAt: Date.now() });
    await world.hint(sent);
    await until(async () => {
      await world.look();
      return (await world.row(sent)).conflict;
    });
    expect(await world.row(sent)).toMatchObject({ state: 'failed', conflict: true });
    await world.close();
  });

  test('one of several recipients cannot be cancelled; all of them can', async ({ freshDatabase: database }) => {
    const world = await holding(database);
    const both = await world.markTogether([TO, OTHER], { heldUntil: inHours(2) });
    const [one, other] = both;
    if (one === undefined || other === undefined) throw new Error('two were expected');
    await world.request(one);
    expect(await cancelled(world, one)).toMatchObject({ counts: { too_late: 1 }, providerAsked: 0 });
    await world.change();
    expect(await changes(world)).toEqual([]);
    expect(await world.row(one)).toMatchObject({ state: 'submitted' });
    // The other too: now nobody is left in it.
    expect(await cancelled(world, other)).toMatchObject({ providerAsked: 2 });
    await world.change();
    for (const message of both)
      expect(await world.row(message)).toMatchObject({ state: 'failed', state_reason: 'cancelled_at_provider' });
    await world.close();
  });
});

describe('another time for a message that the provider holds', () => {
  test('moved there: its own times move too', async ({ freshDatabase: database }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    const later = inHours(5);
    expect(await move(world, sent, later)).toEqual([{ answer: 'asked' }]);
    expect((await schedule(world, sent))?.scheduled_for.getTime()).toBeLessThan(later.getTime());
    await world.change();
    expect(await changes(world)).toEqual([{ kind: 'move', state: 'done', asks: 1 }]);
    const moved = await schedule(world, sent);
    expect(moved?.scheduled_for).toEqual(later);
    expect(moved?.receipt_by.getTime()).toBeGreaterThan(later.getTime());
    expect(world.sim.schedules.list()[0]?.scheduledAt).toBe(later.getTime());
    await world.close();
  });

  test('another time wished for while the first was pursued: the later wish is pursued too', async ({
    freshDatabase: database,
  }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    const [first, second] = [inHours(5), inHours(7)];
    await move(world, sent, first);
    // Answered, and not seen yet: the list cannot be read whole.
    world.sim.schedules.faults.next('done-then-reset');
    const planted = world.sim.schedules.add({ scheduledAt: Date.now() + HOUR });
    expect(planted).toBeTruthy();
    expect(await move(world, sent, second)).toEqual([{ answer: 'asked' }]);
    await world.change();
    await world.change();
    expect((await schedule(world, sent))?.scheduled_for).toEqual(second);
    expect(world.sim.schedules.find((await world.row(sent)).provider_txn_id ?? '')?.scheduledAt).toBe(second.getTime());
    await world.close();
  });

  test('a wish that comes while the provider is asked is not ended with the one before', async ({
    freshDatabase: database,
  }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    const [first, second] = [inHours(5), inHours(7)];
    await move(world, sent, first);
    world.sim.schedules.faults.next('hold-before');
    const asking = world.change();
    await world.sim.faults.untilHeld(1);
    expect(await move(world, sent, second)).toEqual([{ answer: 'asked' }]);
    world.sim.faults.release();
    await asking;
    expect(await changes(world)).toMatchObject([{ kind: 'move', state: 'asked' }]);
    await world.change();
    expect(await changes(world)).toMatchObject([{ kind: 'move', state: 'done' }]);
    expect((await schedule(world, sent))?.scheduled_for).toEqual(second);
    await world.close();
  });

  test('what is to be dropped there is not moved', async ({ freshDatabase: database }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    await cancelled(world, sent);
    expect(await move(world, sent, inHours(5))).toEqual([{ answer: 'too_late' }]);
    await world.close();
  });

  test('the answer is lost: the list shows the new time', async ({ freshDatabase: database }) => {
    const world = await holding(database);
    const sent = await world.send(TO, { heldUntil: inHours(2) });
    const later = inHours(5);
    await move(world, sent, later);
    world.sim.schedules.faults.next('done-then-reset');
    await world.change();
    expect((await schedule(world, sent))?.scheduled_for).toEqual(later);
    await world.close();
  });

  test('it went out before: too late, and the old time stands', async ({ freshDatabase: database }) => {
    const world = await holding(database);
    const at = inHours(2);
    const sent = await world.send(TO, { heldUntil: at });
    await move(world, sent, inHours(5));
    world.sim.schedules.dispatch((await world.row(sent)).provider_txn_id ?? '');
    await world.change();
    expect(await changes(world)).toMatchObject([{ kind: 'move', state: 'too_late' }]);
    expect((await schedule(world, sent))?.scheduled_for).toEqual(at);
    await world.close();
  });

  test('one of several is not moved unless the whole request is meant', async ({ freshDatabase: database }) => {
    const world = await holding(database);
    const both = await world.markTogether([TO, OTHER], { heldUntil: inHours(2) });
    const [one] = both;
    if (one === undefined) throw new Error('two were expected');
    await world.request(one);
    const later = inHours(5);
    expect(await move(world, one, later)).toEqual([{ answer: 'shared' }]);
    expect(await move(world, one, later, true)).toEqual([{ answer: 'asked' }]);
    await world.change();
    for (const message of both) expect((await schedule(world, message))?.scheduled_for).toEqual(later);
    await world.close();
  });
});

describe('a request to hold, whose reply never came', () => {
  test('stays unknown until its time; then its record proves it', async ({ freshDatabase: database }) => {
    const world = await holding(database);
    world.sim.faults.next('accept-then-hang');
    const sent = await world.send(TO, { heldUntil: inHours(2), patience: 'short' });
    expect(await world.row(sent)).toMatchObject({ state: 'unknown' });
    await world.look();
    expect((await world.row(sent)).state).toBe('unknown');
    // Unknown, it can be neither cancelled nor moved, and nobody says otherwise.
    expect(await cancelled(world, sent)).toMatchObject({ counts: { unknown: 1 }, providerAsked: 0 });
    expect(await move(world, sent, inHours(3))).toEqual([{ answer: 'unknown' }]);
    const [held] = world.sim.schedules.list();
    world.sim.schedules.dispatch(held?.uuId ?? '');
    await world.hint(sent);
    await until(async () => {
      await world.look();
      return (await world.row(sent)).state === 'delivered';
    });
    await world.close();
  });

  test('is not called absent while the list shows a request for that time that nobody owns', async ({
    freshDatabase: database,
  }) => {
    const world = await holding(database);
    await world.send('919800000001');
    await world.send('919800000002');
    await world.look();
    world.sim.faults.next('hang-before-accept');
    const at = new Date(Math.ceil((Date.now() + 7_000) / 1_000) * 1_000);
    const sent = await world.send(TO, { heldUntil: at, patience: 'short' });
    await world.send('919800000003');
    // As if it were ours: the same time.
    const planted = world.sim.schedules.add({ scheduledAt: at.getTime() });
    await until(() => Date.now() > at.getTime() + 100);
    // The report has to be right after its time, too.
    await world.send('919800000004');
    await world.workerEnds();
    await world.hint(sent);
    await world.look();
    expect(await world.row(sent)).toMatchObject({ state: 'unknown', correlation_result: 'not_found' });
    const doubts = (await world.reviews()).flatMap((item) => (item.evidence.doubts ?? []) as string[]);
    expect(doubts).toEqual(['schedule_listed']);
    // It was somebody else's, made at another time for another: nothing stands against it any more.
    const foreign = world.sim.schedules.find(planted);
    if (foreign !== null) Object.assign(foreign, { scheduledAt: at.getTime() + HOUR, createdAt: at.getTime() - HOUR });
    await world.hint(sent);
    await world.look();
    expect(await world.row(sent)).toMatchObject({ state: 'failed', state_reason: 'proven_not_submitted' });
    await world.close();
  });
});
