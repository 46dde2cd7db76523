import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  claim,
  durably,
  heldSchedules,
  type MarkedSubmission,
  markNext,
  moveSchedule,
  rowsOf,
  type ScheduleMove,
  setLaneWindow,
} from '../../src/ledger/index.ts';
import { claimRequest, markRequest, outcomeOf } from './on-the-way.ts';
import { type Scene, scene } from './scene.ts';

const HOUR = 3_600_000;
const inHours = (hours: number) => new Date(Math.floor(Date.now() / 1_000) * 1_000 + hours * HOUR);

interface Wanted {
  readonly at?: Date | string;
  readonly zone?: string;
  readonly heldBy?: 'us' | 'provider';
}

async function scheduled(pool: pg.Pool, s: Scene, ...wanted: readonly Wanted[]): Promise<string[]> {
  const rows = await rowsOf<{ message_id: string | null; field: string }>(
    pool,
    'select * from sendledger.enqueue($1::json)',
    [
      JSON.stringify(
        wanted.map(({ at, zone, heldBy }, i) => ({
          tenant_id: 'shop',
          channel: 'sms',
          message_class: 'transactional',
          recipient: `91999999999${i}`,
          event_type: 'reminder',
          event_id: randomUUID(),
          body: 'Your order is ready',
          encoding: 'GSM7',
          segments: '1',
          route: s.name,
          scheduled_for: at,
          scheduled_tz: zone,
          held_by: heldBy,
        })),
      ),
    ],
  );
  return rows.map(({ message_id: id, field }) => {
    if (id === null) throw new Error(`not enqueued: ${field}`);
    return id;
  });
}

const one = async (pool: pg.Pool, s: Scene, wanted: Wanted) => (await scheduled(pool, s, wanted))[0] ?? '';

const move = (pool: pg.Pool, messageId: string, change: Partial<ScheduleMove> = {}) =>
  durably(pool, (sql) =>
    moveSchedule(sql, {
      tenantId: 'shop',
      messageId,
      to: inHours(5),
      who: 'asha',
      why: 'the sale begins later',
      ...change,
    }),
  );

async function row(pool: pg.Pool, id: string) {
  const [found] = await rowsOf<{
    state: string;
    scheduled_for: Date;
    scheduled_tz: string | null;
    scheduled_offset_s: number | null;
    due_at: Date;
    valid_s: number;
  }>(
    pool,
    `select state, scheduled_for, scheduled_tz, scheduled_offset_s, due_at, extract(epoch from submit_by - scheduled_for)::integer as valid_s
     from sendledger.outbound_message where id = $1`,
    [id],
  );
  return found;
}

/** Requests that the provider accepted and holds: of as many messages as are scheduled for it. */
async function held(pool: pg.Pool, s: Scene, count: number): Promise<string[]> {
  await pool.query(`update sendledger.route set schedule_lead = '5 minutes', max_batch = 500 where id = $1`, [
    s.routeId,
  ]);
  const ids = await scheduled(
    pool,
    s,
    ...Array.from({ length: count }, () => ({ at: inHours(3), heldBy: 'provider' as const })),
  );
  await claim(pool, claimRequest(s));
  for (const submission of await markNext(pool, markRequest(s))) await accepted(pool, submission);
  return ids;
}

const accepted = (pool: pg.Pool, submission: MarkedSubmission) =>
  durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'accepted')]));

describe('a schedule that waits here', () => {
  test('is moved at once, keeps its validity, and who and why are kept', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const id = await one(pool, s, { at: inHours(2) });
    const to = inHours(5);
    expect(await move(pool, id, { to })).toEqual({
      answer: 'moved',
      scheduledFor: to,
      lane: `${s.routeId}.transactional`,
    });
    expect(await row(pool, id)).toEqual({
      state: 'pending',
      scheduled_for: to,
      scheduled_tz: null,
      scheduled_offset_s: null,
      due_at: to,
      valid_s: 3_600,
    });
    const logged = await rowsOf(pool, `select who, why, action from sendledger.audit_log where message_id = $1`, [id]);
    expect(logged).toEqual([{ who: 'asha', why: 'the sale begins later', action: 'schedule_moved' }]);
  });

  test('is moved by the wall clock of a zone, or of the one it was scheduled in', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const id = await one(pool, s, { at: '2090-01-10T09:00', zone: 'Asia/Kolkata' });
    expect(await move(pool, id, { to: '2090-01-11T09:00' })).toMatchObject({
      answer: 'moved',
      scheduledFor: new Date('2090-01-11T03:30Z'),
    });
    expect(await move(pool, id, { to: '2090-01-11T09:00', zone: 'Asia/Kathmandu' })).toMatchObject({
      scheduledFor: new Date('2090-01-11T03:15Z'),
    });
    expect(await row(pool, id)).toMatchObject({ scheduled_tz: 'Asia/Kathmandu', scheduled_offset_s: 20_700 });
    expect(await move(pool, id, { to: '2090-01-12T00:00Z' })).toMatchObject({ answer: 'moved' });
    expect(await row(pool, id)).toMatchObject({ scheduled_tz: 'Asia/Kathmandu', scheduled_offset_s: 20_700 });
  });

  test('waits for the window of its lane', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const by = { who: 'x', why: 'x' };
    await setLaneWindow(
      pool,
      s.routeId,
      'transactional',
      { opens: '10:00', closes: '21:00', zone: 'Asia/Kolkata' },
      by,
    );
    const id = await one(pool, s, { at: '2090-01-10T12:00+05:30' });
    await move(pool, id, { to: '2090-01-11T09:00+05:30' });
    expect(await row(pool, id)).toMatchObject({
      scheduled_for: new Date('2090-01-11T03:30Z'),
      due_at: new Date('2090-01-11T04:30Z'),
    });
  });

  test('is taken out of an open submission, whose other rows wait again; on the wire it is too late', async ({
    database: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 500 });
    const ids = await scheduled(pool, s, { at: inHours(2) }, { at: inHours(2) });
    await pool.query(
      `update sendledger.outbound_message set due_at = now(), scheduled_for = now() - interval '1 s' where route_id = $1`,
      [s.routeId],
    );
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 2 });
    expect(await move(pool, ids[0] ?? '')).toMatchObject({ answer: 'moved' });
    expect(await row(pool, ids[0] ?? '')).toMatchObject({ state: 'pending' });
    await claim(pool, claimRequest(s));
    await markNext(pool, markRequest(s));
    expect(await move(pool, ids[1] ?? '')).toEqual({ answer: 'too_late' });
    expect(await move(pool, ids[0] ?? '')).toMatchObject({ answer: 'moved' });
  });

  test('is refused where it makes no sense, and nothing is written', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const id = await one(pool, s, { at: inHours(2) });
    const before = await row(pool, id);
    for (const [change, answer] of [
      [{ to: '2020-01-01T00:00Z' }, 'invalid'],
      [{ to: '2090-01-01T00:00' }, 'invalid'],
      [{ to: '2090-02-30T00:00Z' }, 'invalid'],
      [{ to: 'tomorrow' }, 'invalid'],
      [{ to: '2090-01-01T00:00', zone: 'Mars/Olympus' }, 'invalid'],
      [{ tenantId: 'another' }, 'not_found'],
    ] as const)
      expect([change, await move(pool, id, change)]).toEqual([change, { answer }]);
    expect(await move(pool, '999999999')).toEqual({ answer: 'not_found' });
    expect(await move(pool, await one(pool, s, {}))).toEqual({ answer: 'not_scheduled' });
    for (const change of [{ who: ' ' }, { why: '' }])
      await expect(move(pool, id, change)).rejects.toMatchObject({ code: 'SENDLEDGER_REASON_NEEDED' });
    expect(await row(pool, id)).toEqual(before);
  });
});

describe('a schedule that a provider holds', () => {
  test('is asked of the provider, and the later wish counts', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    const [id = ''] = await held(pool, s, 1);
    expect(await heldSchedules(pool, 10)).toMatchObject([{ id, route: s.name, tenantId: 'shop', asked: [] }]);
    const [first, second] = [inHours(5), inHours(6)];
    expect(await move(pool, id, { to: first })).toMatchObject({ answer: 'asked', scheduledFor: first });
    expect(await move(pool, id, { to: second })).toMatchObject({ answer: 'asked', scheduledFor: second });
    // Until the provider is seen to have done it, the old time stands.
    expect(await row(pool, id)).toMatchObject({ state: 'submitted', scheduled_for: expect.any(Date) });
    const [listed] = await heldSchedules(pool, 10);
    expect(listed?.asked).toMatchObject([{ kind: 'move', requestedBy: 'asha', asks: 0, answered: null, seen: null }]);
    expect(new Date(listed?.asked[0]?.moveTo ?? '')).toEqual(second);
  });

  test('with others in one request only with all of them', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    const [id = ''] = await held(pool, s, 3);
    expect(await move(pool, id)).toEqual({ answer: 'shared' });
    expect(await move(pool, id, { wholeRequest: true })).toMatchObject({ answer: 'asked' });
    expect((await heldSchedules(pool, 10)).map(({ asked }) => asked.length)).toEqual([1, 1, 1]);
    expect(await heldSchedules(pool, 2)).toHaveLength(2);
  });
});
