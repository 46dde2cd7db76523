import {
  backfillBadRows,
  backfillOrphans,
  backfillRuns,
  cancelBackfill,
  durably,
  rowsOf,
  startBackfill,
  takeBackfillDay,
} from '@sendledger/core/ledger';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { finalStates } from '../support/final-states.ts';
import { receiptsOf } from '../support/past-messages.ts';
import { until } from '../support/settled.ts';
import { everythingWritten, runOver, statusOf, workerFor, worldOf } from './world.ts';

const dayReads = (sim: { calls(): { dayReport: number } }) => sim.calls().dayReport;

describe('a backfill', () => {
  test('reads each day by one call, in order, and applies it as any receipt; a second run changes nothing', async ({
    freshDatabase,
  }) => {
    const world = await worldOf(freshDatabase, { days: 3, perDay: 4, sim: { failMobile: /1$/ } });
    const run = await runOver(world);
    const { untilNone } = await workerFor(world);
    await untilNone();
    expect(await statusOf(world, run)).toMatchObject({
      state: 'complete',
      days: { total: 3, applied: 3, failing: 0, inHand: 0 },
      ...{ reads: 3, rows: '12', badRows: '0', receipts: '12', fresh: '12', applied: '12', orphans: '0' },
    });
    const states = await finalStates(freshDatabase);
    expect(Object.values(states).toSorted()).toEqual([
      ...Array.from({ length: 9 }, () => 'delivered 0.1200'),
      ...Array.from({ length: 3 }, () => 'failed 0.1200'),
    ]);
    const receipts = await receiptsOf(freshDatabase);
    const messages = await rowsOf(freshDatabase.pool, 'select * from sendledger.outbound_message order by id');

    const again = await runOver(world);
    await untilNone();
    expect(await statusOf(world, again)).toMatchObject({
      state: 'complete',
      rows: '12',
      receipts: '12',
      fresh: '0',
      applied: '12',
    });
    expect(await receiptsOf(freshDatabase)).toEqual(receipts);
    expect(await rowsOf(freshDatabase.pool, 'select * from sendledger.outbound_message order by id')).toEqual(messages);
    expect(dayReads(world.sim)).toBe(6);
    expect((await backfillRuns(freshDatabase.pool)).map(({ id }) => id)).toEqual([again, run]);
  });

  test('leaves no text of any message behind: not in evidence, not in bad rows, nowhere', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 2, perDay: 12 });
    world.sim.dayReports.next('bad-rows', 2);
    const run = await runOver(world);
    await (await workerFor(world)).untilNone();
    expect(await statusOf(world, run)).toMatchObject({ state: 'complete', fresh: '24', badRows: '10' });
    const written = await everythingWritten(world);
    expect(written).toContain(world.sends[0]?.txnId);
    for (const text of ['Secret text', 'with a comma', 'of nobody', 'open quote']) expect(written).not.toContain(text);
  });

  test('counts bad rows, keeps the first of them, and goes on', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 1, perDay: 3 });
    world.sim.dayReports.next('bad-rows', 2);
    const run = await runOver(world);
    await (await workerFor(world)).untilNone();
    expect(await statusOf(world, run)).toMatchObject({ state: 'complete', rows: '7', badRows: '4', applied: '3' });
    expect((await backfillBadRows(freshDatabase.pool, run, 10)).map(({ line, reason }) => [line, reason])).toEqual([
      ['5', 'wrong_columns'],
      ['6', 'quote_not_closed'],
      ['7', 'names_nobody'],
      ['8', 'row_too_long'],
    ]);
    const bounded = await runOver(world);
    await (await workerFor(world, { policy: { badRowsKept: 2 } })).untilNone();
    expect(await statusOf(world, bounded)).toMatchObject({ badRows: '4' });
    expect(await backfillBadRows(freshDatabase.pool, bounded, 10)).toHaveLength(2);
  });

  test('lists what matches no message, as long as it matches none', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, {
      days: 2,
      perDay: 3,
      ours: ({ recipient }) => !recipient.endsWith('1'),
    });
    const run = await runOver(world);
    await (await workerFor(world)).untilNone();
    expect(await statusOf(world, run)).toMatchObject({ state: 'complete', receipts: '6', applied: '4', orphans: '2' });
    const lost = world.sends.filter(({ recipient }) => recipient.endsWith('1'));
    expect(await backfillOrphans(freshDatabase.pool, run, 10)).toMatchObject(
      lost.map(({ day, txnId, recipient }) => ({ day, providerTxnId: txnId, recipient, senderId: 'SHOPIN' })),
    );
    expect(await backfillOrphans(freshDatabase.pool, run, 1)).toHaveLength(1);
    // The rows are found again, as after a restore: what was an orphan's is theirs.
    const { importPast } = await import('../support/past-messages.ts');
    await importPast(freshDatabase, world.routeId, lost.slice(0, 1));
    expect(await backfillOrphans(freshDatabase.pool, run, 10)).toMatchObject([{ providerTxnId: lost[1]?.txnId }]);
  });

  test('a word that nobody has mapped is no orphan: its row waits, and is asked about', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 1, perDay: 1 });
    world.sim.delivery.override(/./, { status: 'PARKED', cause: '' });
    const run = await runOver(world);
    await (await workerFor(world)).untilNone();
    expect(await statusOf(world, run)).toMatchObject({ state: 'complete', receipts: '1', applied: '0', orphans: '0' });
    expect(await backfillOrphans(freshDatabase.pool, run, 10)).toEqual([]);
    expect(await rowsOf(freshDatabase.pool, 'select kind from sendledger.review_item')).toEqual([
      { kind: 'unmapped_status' },
    ]);
  });
});

describe('a day that cannot be read', () => {
  test.for([
    ['not-available', { errorKind: 'refused', error: expect.stringContaining('9910') }],
    ['unlisted-error', { errorKind: 'refused', error: expect.stringContaining('9907') }],
    ['throttle-429', { errorKind: 'not_yet', error: 'HTTP 429' }],
    ['http-500', { errorKind: 'unavailable', error: 'HTTP 500' }],
    ['html-under-200', { errorKind: 'unreadable' }],
    ['reset', { errorKind: 'unavailable' }],
    ['truncated', { errorKind: 'unreadable' }],
    ['cut-off', { errorKind: 'unavailable' }],
    ['wrong-checksum', { errorKind: 'unreadable', error: expect.stringContaining('checksum') }],
    ['foreign-link', { errorKind: 'unavailable', error: expect.stringContaining('another origin') }],
  ] as const)(
    '%s: stays open with its reason, nothing of it is stored, and it is read when it can be',
    async ([fault, wanted], { freshDatabase }) => {
      const world = await worldOf(freshDatabase, { days: 1, perDay: 8 });
      const run = await runOver(world);
      const { worker, untilNone } = await workerFor(world);
      world.sim.dayReports.next(fault);
      await worker.round();
      const held = await statusOf(world, run);
      expect(held).toMatchObject({ state: 'running', days: { waiting: 1, failing: 1, inHand: 0 } });
      expect(held.checkpoints[0]).toMatchObject({ state: 'waiting', tries: 1, ...wanted });
      expect(await receiptsOf(freshDatabase)).toEqual([]);
      // What the provider asked to be waited for is over.
      await freshDatabase.pool.query('update sendledger.job_checkpoint set next_at = now()');
      await untilNone();
      expect(await statusOf(world, run)).toMatchObject({ state: 'complete', fresh: '8', days: { failing: 0 } });
    },
  );

  test('as a link it is read with one call more', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 1, perDay: 2 });
    world.sim.dayReports.asLink = true;
    const run = await runOver(world);
    await (await workerFor(world)).untilNone();
    expect(await statusOf(world, run)).toMatchObject({ state: 'complete', fresh: '2' });
    expect(world.sim.calls()).toMatchObject({ dayReport: 1, dayFile: 1 });
  });
});

describe('an account has one reader', () => {
  test('two workers and two runs never read it at once, and no day twice', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 3, perDay: 1 });
    const runs = [await runOver(world), await runOver(world)];
    const [one, two] = [await workerFor(world, { instance: 'a' }), await workerFor(world, { instance: 'b' })];
    world.sim.dayReports.next('hold');
    const reading = one.worker.round();
    await world.sim.faults.untilHeld();
    // The other finds nothing that it may take, of either run.
    expect(await two.worker.round()).toBe('none');
    expect(dayReads(world.sim)).toBe(1);
    world.sim.faults.release();
    await reading;
    await Promise.all([one.untilNone(), two.untilNone()]);
    await two.untilNone();
    for (const run of runs) expect(await statusOf(world, run)).toMatchObject({ state: 'complete', reads: 3 });
    expect(dayReads(world.sim)).toBe(6);
  });

  test('the database itself refuses a second lease of an account', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 2, perDay: 1 });
    await runOver(world);
    const lease = (where: string) =>
      freshDatabase.pool.query(
        `update sendledger.job_checkpoint set lease_token = gen_random_uuid(), lease_until = now() + interval '1 hour', worker_id = 1 where ${where}`,
      );
    await lease(`day = '${world.days[0]}'`);
    await expect(lease(`day = '${world.days[1]}'`)).rejects.toMatchObject({ constraint: 'job_checkpoint_one_reader' });
  });

  test('a lease that ran out is taken over, and who held it can write nothing more', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 1, perDay: 2 });
    const run = await runOver(world);
    const slow = await workerFor(world, { instance: 'slow' });
    world.sim.dayReports.next('hold');
    const reading = slow.worker.round();
    await world.sim.faults.untilHeld();
    await freshDatabase.pool.query(`update sendledger.job_checkpoint set lease_until = now() - interval '1 s'`);
    // Taken, and held by hand.
    const quick = await durably(freshDatabase.pool, (sql) =>
      takeBackfillDay(sql, { workerId: '999', leaseMs: 60_000, accounts: ['smsgatewaycenter/default'] }),
    );
    expect(quick).toMatchObject({ state: 'waiting', tries: 2 });
    world.sim.faults.release();
    await reading;
    expect(await receiptsOf(freshDatabase)).toEqual([]);
    expect(await statusOf(world, run)).toMatchObject({ days: { waiting: 1, inHand: 1, failing: 0 } });
  });

  test('its reads keep the distance that its route allows, whoever makes them and whatever becomes of them', async ({
    freshDatabase,
  }) => {
    const world = await worldOf(freshDatabase, { days: 3, perDay: 1, readsPerMinute: '0.001' });
    const run = await runOver(world);
    const { worker } = await workerFor(world);
    world.sim.dayReports.next('http-500');
    expect(await worker.round()).toBe('more');
    expect(await worker.round()).toBe('none');
    expect(await (await workerFor(world, { instance: 'b' })).worker.round()).toBe('none');
    // Another run of the account waits as well.
    await runOver(world);
    expect(await worker.round()).toBe('none');
    expect(dayReads(world.sim)).toBe(1);
    // Of two routes of one account the more careful one counts.
    const { pool } = freshDatabase;
    await pool.query(
      `insert into sendledger.route (name, provider, account, channel, reads_per_minute) values ('fast', 'smsgatewaycenter', 'default', 'sms', 1000000)`,
    );
    expect(await worker.round()).toBe('none');
    await pool.query('update sendledger.route set reads_per_minute = 1000000');
    await until(async () => (await worker.round()) === 'more');
    expect(await statusOf(world, run)).toMatchObject({ days: { applied: 1 } });
  });
});

describe('a run that is cancelled', () => {
  test('ends, also while a day of it is being read: that day stores nothing more', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 3, perDay: 2 });
    const run = await runOver(world);
    const { worker } = await workerFor(world);
    await worker.round();
    world.sim.dayReports.next('hold');
    const reading = worker.round();
    await world.sim.faults.untilHeld();
    expect(await durably(freshDatabase.pool, (sql) => cancelBackfill(sql, run, 'asha'))).toBe(2);
    world.sim.faults.release();
    await reading;
    expect(await worker.round()).toBe('none');
    expect(await statusOf(world, run)).toMatchObject({
      state: 'cancelled',
      days: { applied: 1, cancelled: 2 },
      receipts: '2',
    });
    expect(await receiptsOf(freshDatabase)).toHaveLength(2);
    await expect(
      freshDatabase.pool.query(
        `update sendledger.job_checkpoint set state = 'waiting', finished_at = null where state = 'cancelled'`,
      ),
    ).rejects.toThrow(/goes from waiting to stored to applied/);
  });
});

describe('a worker that is told to end', () => {
  test('gives the day back at once, and the next one reads it', async ({ freshDatabase }) => {
    const world = await worldOf(freshDatabase, { days: 1, perDay: 2 });
    const run = await runOver(world);
    const { worker } = await workerFor(world);
    world.sim.dayReports.next('hold');
    const reading = worker.round();
    await world.sim.faults.untilHeld();
    worker.stop();
    await reading;
    expect(await worker.round()).toBe('none');
    expect(await statusOf(world, run)).toMatchObject({ days: { waiting: 1, inHand: 0, failing: 0 } });
    await (await workerFor(world, { instance: 'other' })).untilNone();
    expect(await statusOf(world, run)).toMatchObject({ state: 'complete', fresh: '2' });
  });
});

describe('a database that refuses a part', () => {
  test('one receipt that cannot be stored costs itself; one that cannot be applied waits by itself', async ({
    freshDatabase,
  }) => {
    const world = await worldOf(freshDatabase, { days: 1, perDay: 5 });
    const [, unstorable, inapplicable] = world.sends;
    const { pool } = freshDatabase;
    await pool.query(
      `alter table sendledger.delivery_receipt add constraint test_store check (recipient <> '${unstorable?.recipient}')`,
    );
    await pool.query(
      `alter table sendledger.outbound_message add constraint test_apply check (recipient <> '${inapplicable?.recipient}' or state = 'submitted')`,
    );
    const run = await runOver(world);
    await (await workerFor(world)).untilNone();
    expect(await statusOf(world, run)).toMatchObject({
      state: 'complete',
      ...{ rows: '5', badRows: '1', receipts: '4', applied: '3', orphans: '0' },
    });
  });
});

test('a day that is not over is refused by the ledger, whoever asks', async ({ freshDatabase }) => {
  const world = await worldOf(freshDatabase, { days: 1, perDay: 1 });
  const span = { from: world.days[0] ?? '', to: '2999-01-01' };
  const asked = startBackfill(freshDatabase.pool, { ...span, accounts: [world.account], who: 'test' });
  await expect(asked).rejects.toMatchObject({ code: 'SENDLEDGER_BACKFILL_REFUSED' });
});
