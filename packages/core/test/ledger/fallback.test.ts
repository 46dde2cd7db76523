import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  cancelCovered,
  claim,
  durably,
  fallBack,
  markNext,
  overdue,
  type RowRef,
  replay,
  rowsOf,
  type SubmissionOutcome,
  sweepMarkedLeases,
  undeliverable,
} from '../../src/ledger/index.ts';
import { claimRequest, endLease, markRequest, only, outcomeOf, type RowTo } from './on-the-way.ts';
import { type EnqueuedRow, enqueue, type Scene, scene, stateOf } from './scene.ts';
import { untilWaiting } from './until-waiting.ts';

/** Two providers: what the first cannot deliver the second may be given. */
async function twoRoutes(pool: pg.Pool): Promise<{ first: Scene; second: Scene }> {
  return { first: await scene(pool), second: await scene(pool) };
}

const step = (s: Scene, more: Readonly<Record<string, unknown>> = {}) => ({
  channel: 'sms',
  route: s.name,
  sender_id: null,
  body: 'Sent another way',
  encoding: 'GSM7',
  segments: '1',
  ...more,
});

async function chained(
  pool: pg.Pool,
  s: Scene,
  fallback: readonly object[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<EnqueuedRow> {
  return only(
    await enqueue(pool, [
      { route: s.name, event: randomUUID(), more: { fallback, on_proven_absent: 'stop', ...more } },
    ]),
  );
}

/** One message through its request, to whatever became of that. */
async function through(pool: pg.Pool, s: Scene, state: SubmissionOutcome['state'], to?: RowTo) {
  await claim(pool, claimRequest(s));
  const submission = only(await markNext(pool, markRequest(s)));
  await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, state, to === undefined ? {} : { to })]));
  return submission;
}

const take = (pool: pg.Pool, message: RowRef) => durably(pool, (sql) => fallBack(sql, message));

async function row(pool: pg.Pool, id: string | undefined) {
  const [found] = await rowsOf<{
    state: string;
    body: string;
    business_key: string;
    route_id: string;
    replaces_id: string | null;
    fallback_step: number | null;
    submit_by: Date;
    attempt_key: string;
    current: string;
  }>(
    pool,
    `select m.state::text, m.body, m.business_key, m.route_id, m.replaces_id, m.fallback_step, m.submit_by, m.attempt_key, k.message_id as current
     from sendledger.outbound_message m
     join sendledger.message_key k on k.tenant_id = m.tenant_id and k.business_key = m.business_key where m.id = $1`,
    [id],
  );
  if (found === undefined) throw new Error(`message ${id} is gone`);
  return found;
}

const messagesOf = async (pool: pg.Pool, message: RowRef) =>
  rowsOf<{ id: string }>(
    pool,
    `select o.id from sendledger.outbound_message m join sendledger.outbound_message o on o.tenant_id = m.tenant_id and o.business_key = m.business_key
     where m.id = $1 order by o.id`,
    [message.id],
  );

/** As if it had been submitted an hour ago, which no statement of the ledger can say. */
async function submittedAnHourAgo(pool: pg.Pool, message: RowRef): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(
      `update sendledger.outbound_message set submitted_at = now() - interval '1 h' where id = $1 and state = 'submitted'`,
      [message.id],
    );
    await client.query(`update sendledger.fallback set look_at = now() where look_at is not null`);
    await client.query('commit');
  } finally {
    client.release();
  }
}

describe('a message with a fallback', () => {
  test('refused by the first provider: the second gets a new row, with the same business key', async ({
    freshDatabase: { pool },
  }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second)]);
    await through(pool, first, 'refused');
    expect(await undeliverable(pool, 10)).toMatchObject([{ id: message.id }]);
    const taken = await take(pool, message);
    expect(taken).toMatchObject({ answer: 'created', lane: `${second.routeId}.transactional` });
    const before = await row(pool, message.id);
    const after = await row(pool, taken.message?.id);
    expect(before).toMatchObject({ state: 'rejected', fallback_step: null, current: taken.message?.id });
    expect(after).toMatchObject({
      state: 'pending',
      body: 'Sent another way',
      business_key: before.business_key,
      route_id: second.routeId,
      replaces_id: message.id,
      fallback_step: null,
      submit_by: before.submit_by,
    });
    expect(after.attempt_key).not.toBe(before.attempt_key);
    expect(await undeliverable(pool, 10)).toEqual([]);
    // It is a message like any other.
    await through(pool, second, 'accepted');
    expect(await stateOf(pool, taken.message?.id ?? '')).toBe('submitted');
    const log = await rowsOf(
      pool,
      `select who, action, message_id from sendledger.audit_log where action = 'fallback'`,
    );
    expect(log).toEqual([{ who: 'sendledger', action: 'fallback', message_id: message.id }]);
  });

  test('a chain is gone through step by step, each only from what the last became', async ({
    freshDatabase: { pool },
  }) => {
    const { first, second } = await twoRoutes(pool);
    const third = await scene(pool);
    const message = await chained(pool, first, [step(second, { body: 'two' }), step(third, { body: 'three' })]);
    await through(pool, first, 'refused');
    const two = (await take(pool, message)).message ?? message;
    expect(await row(pool, two.id)).toMatchObject({ body: 'two', fallback_step: 2 });
    // Taken once, and not from what was replaced.
    expect(await take(pool, message)).toMatchObject({ answer: 'none' });
    expect(await take(pool, two)).toMatchObject({ answer: 'open' });
    await through(pool, second, 'refused');
    const three = (await take(pool, two)).message ?? message;
    expect(await row(pool, three.id)).toMatchObject({ body: 'three', fallback_step: null, replaces_id: two.id });
    await through(pool, third, 'refused');
    expect(await take(pool, three)).toMatchObject({ answer: 'none' });
    expect(await messagesOf(pool, message)).toHaveLength(3);
  });

  // FC-02: what became of the request × whether there is a fallback. Nothing is sent another way that may have been sent.
  const fates: readonly [string, SubmissionOutcome['state'], RowTo | undefined, string, boolean][] = [
    ['refused for good', 'refused', 'rejected', 'rejected', true],
    ['refused for now', 'refused', 'retry', 'retry', false],
    ['proven not sent', 'not_sent', 'retry', 'retry', false],
    ['ambiguous', 'ambiguous', 'unknown', 'unknown', false],
    ['accepted', 'accepted', 'submitted', 'submitted', false],
    ['accepted, its recipient refused', 'accepted', 'rejected', 'rejected', true],
    ['accepted, its recipient not in the reply', 'accepted', 'unknown', 'unknown', false],
  ];
  for (const [name, state, to, becomes, falls] of fates)
    for (const declared of [true, false])
      test(`FC-02: ${name}, ${declared ? 'with' : 'without'} a fallback: ${falls && declared ? 'one more row' : 'none'}`, async ({
        database: { pool },
      }) => {
        const { first, second } = await twoRoutes(pool);
        const message = await chained(pool, first, declared ? [step(second)] : []);
        await through(pool, first, state, to);
        expect(await stateOf(pool, message.id)).toBe(becomes);
        const taken = await take(pool, message);
        expect(taken.answer).toBe(declared ? (falls ? 'created' : becomes === 'unknown' ? 'unknown' : 'open') : 'none');
        expect(await messagesOf(pool, message)).toHaveLength(falls && declared ? 2 : 1);
        // What was refused to be sent another way says why.
        if (declared && !falls) expect(taken.reason).not.toBeNull();
      });

  test('unknown, and then proven not sent: it falls back; proven sent: it does not', async ({
    freshDatabase: { pool },
  }) => {
    const { first, second } = await twoRoutes(pool);
    for (const [late, answer] of [
      ['refused', 'created'],
      ['accepted', 'open'],
    ] as const) {
      const message = await chained(pool, first, [step(second)]);
      await claim(pool, claimRequest(first));
      const submission = only(await markNext(pool, markRequest(first)));
      await endLease(pool, submission);
      await durably(pool, (sql) => sweepMarkedLeases(sql, 10));
      expect(await take(pool, message)).toMatchObject({ answer: 'unknown' });
      await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, late)]));
      expect(await take(pool, message)).toMatchObject({ answer });
    }
  });

  test('proven not sent, and its sender wants it again: the same route first, and the chain goes with it', async ({
    freshDatabase: { pool },
  }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second)], { on_proven_absent: 'replay' });
    await claim(pool, claimRequest(first));
    const submission = only(await markNext(pool, markRequest(first)));
    await endLease(pool, submission);
    await durably(pool, (sql) => sweepMarkedLeases(sql, 10));
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'not_sent')]));
    const [, again] = await messagesOf(pool, message);
    expect(await row(pool, message.id)).toMatchObject({ state: 'failed', fallback_step: null, current: again?.id });
    expect(await row(pool, again?.id)).toMatchObject({ state: 'pending', route_id: first.routeId, fallback_step: 1 });
    expect(await undeliverable(pool, 10)).toEqual([]);
    await through(pool, first, 'refused');
    const lost = await undeliverable(pool, 10);
    expect(lost).toMatchObject([{ id: again?.id }]);
    expect(await take(pool, only(lost))).toMatchObject({ answer: 'created' });
    expect(await messagesOf(pool, message)).toHaveLength(3);
  });

  test('asked sixteen times at once: one row', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second)]);
    await through(pool, first, 'refused');
    const answers = await Promise.all(Array.from({ length: 16 }, () => take(pool, message)));
    expect(answers.filter((a) => a.answer === 'created')).toHaveLength(1);
    expect(await messagesOf(pool, message)).toHaveLength(2);
  });

  test('cancelled meanwhile: it is not sent another way', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second)]);
    await through(pool, first, 'refused');
    const { business_key: businessKey } = await row(pool, message.id);
    await cancelCovered((work) => durably(pool, work), {
      tenantId: 'shop',
      target: { kind: 'key', businessKey },
      by: 'a test',
      why: 'to see',
    });
    expect(await take(pool, message)).toMatchObject({ answer: 'cancelled' });
    // Decided, and not asked again.
    expect(await undeliverable(pool, 10)).toEqual([]);
  });

  test('worthless by now: it is not sent another way', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second)]);
    await through(pool, first, 'refused');
    await pool.query(
      `update sendledger.outbound_message set submit_by = now() - interval '1 s' where id = $1 and state = 'rejected'`,
      [message.id],
    );
    expect(await take(pool, message)).toMatchObject({ answer: 'too_late' });
    expect(await undeliverable(pool, 10)).toEqual([]);
  });

  test('something says that it was sent after all: it is not sent another way', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second)]);
    await through(pool, first, 'refused');
    await pool.query(`update sendledger.outbound_message set conflict = true where id = $1 and state = 'rejected'`, [
      message.id,
    ]);
    expect(await take(pool, message)).toMatchObject({ answer: 'doubtful' });
    expect(await undeliverable(pool, 10)).toEqual([]);
  });

  test('the route of its next step is gone: said, and not asked again', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second)]);
    await pool.query('update sendledger.route set retired_at = now() where id = $1', [second.routeId]);
    await through(pool, first, 'refused');
    expect(await take(pool, message)).toMatchObject({ answer: 'no_route' });
    expect(await undeliverable(pool, 10)).toEqual([]);
  });
});

describe('not delivered in time', () => {
  const after = { after_s: '600', may_duplicate: true };

  test('falls back where its sender accepts a duplicate, and not before', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second, after)]);
    await through(pool, first, 'accepted');
    expect(await take(pool, message)).toMatchObject({ answer: 'open' });
    expect(await durably(pool, (sql) => overdue(sql, 10))).toEqual([]);
    await submittedAnHourAgo(pool, message);
    const late = await durably(pool, (sql) => overdue(sql, 10));
    expect(late).toMatchObject([{ id: message.id }]);
    expect(await take(pool, message)).toMatchObject({ answer: 'created' });
    // The first is still waited for, and may arrive as well.
    expect(await stateOf(pool, message.id)).toBe('submitted');
    expect(await messagesOf(pool, message)).toHaveLength(2);
    expect(await durably(pool, (sql) => overdue(sql, 10))).toEqual([]);
  });

  test('does not fall back where its sender does not, however late', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second)]);
    await through(pool, first, 'accepted');
    await submittedAnHourAgo(pool, message);
    expect(await durably(pool, (sql) => overdue(sql, 10))).toEqual([]);
    expect(await take(pool, message)).toMatchObject({ answer: 'open' });
  });

  test('unknown does not fall back, however late and whatever its sender accepts', async ({
    freshDatabase: { pool },
  }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second, after)]);
    await through(pool, first, 'ambiguous');
    await pool.query('update sendledger.fallback set look_at = now()');
    expect(await durably(pool, (sql) => overdue(sql, 10))).toEqual([]);
    expect(await take(pool, message)).toMatchObject({ answer: 'unknown' });
    // Looked at again: it may be found to be sent, and then be late.
    const [timer] = await rowsOf<{ waits: boolean }>(pool, 'select look_at > now() as waits from sendledger.fallback');
    expect(timer).toEqual({ waits: true });
  });
});

describe('a fallback that cannot be is refused before anything is written', () => {
  const cases: readonly [string, object, string][] = [
    ['what may arrive, without an accepted duplicate', { after_s: '60' }, 'duplicate is acceptable'],
    ['no such route', { route: 'nowhere' }, 'no route'],
    ['no body', { body: '' }, 'body'],
    ['another number', { channel: 'telegram' }, 'same number'],
    ['too long', { body: 'x'.repeat(1_700), segments: '11' }, '10 segments'],
    ['a placeholder for an id', { dlt_template_id: '0' }, 'placeholder'],
    ['a wrong count', { body: 'x'.repeat(400), segments: '1' }, 'fewer segments'],
  ];
  for (const [name, change, reason] of cases)
    test(name, async ({ database: { pool } }) => {
      const { first, second } = await twoRoutes(pool);
      const [answer] = await rowsOf<{ answer: string; field: string; reason: string }>(
        pool,
        'select answer, field, reason from sendledger.enqueue($1::json)',
        [
          JSON.stringify([
            {
              tenant_id: 'shop',
              channel: 'sms',
              message_class: 'transactional',
              recipient: '919999999999',
              event_type: 'order',
              event_id: randomUUID(),
              body: 'x',
              encoding: 'GSM7',
              segments: '1',
              route: first.name,
              fallback: [step(second), step(second, change as Record<string, unknown>)],
            },
          ]),
        ],
      );
      expect(answer).toMatchObject({ answer: 'invalid', field: 'fallback' });
      expect(answer?.reason).toContain(reason);
    });
});

describe('what a step keeps of the message it follows', () => {
  test('its time: refused when it was handed over, it is sent another way at that time and not before', async ({
    freshDatabase: { pool },
  }) => {
    const { first, second } = await twoRoutes(pool);
    await pool.query(`update sendledger.route set schedule_lead = interval '10 minutes' where id = $1`, [
      first.routeId,
    ]);
    const at = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 72 * 3_600_000);
    const message = await chained(pool, first, [step(second)], {
      scheduled_for: at.toISOString(),
      held_by: 'provider',
    });
    await through(pool, first, 'refused');
    const taken = await take(pool, message);
    const [next] = await rowsOf<{ due_at: Date; scheduled_for: Date; held_by: string }>(
      pool,
      'select due_at, scheduled_for, held_by from sendledger.outbound_message where id = $1',
      [taken.message?.id],
    );
    expect(next).toEqual({ due_at: at, scheduled_for: at, held_by: 'us' });
  });

  test('its clock: what a provider holds is late so long after its time, not after it was handed over', async ({
    freshDatabase: { pool },
  }) => {
    const { first, second } = await twoRoutes(pool);
    await pool.query(`update sendledger.route set schedule_lead = interval '10 minutes' where id = $1`, [
      first.routeId,
    ]);
    const at = new Date(Date.now() + 72 * 3_600_000);
    const message = await chained(pool, first, [step(second, { after_s: '60', may_duplicate: true })], {
      scheduled_for: at.toISOString(),
      held_by: 'provider',
    });
    await through(pool, first, 'accepted');
    await submittedAnHourAgo(pool, message);
    expect(await durably(pool, (sql) => overdue(sql, 10))).toEqual([]);
    expect(await take(pool, message)).toMatchObject({ answer: 'open' });
    const [timer] = await rowsOf<{ look_at: Date }>(pool, 'select look_at from sendledger.fallback');
    expect(timer?.look_at.getTime()).toBe(at.getTime() + 60_000);
  });

  test('a person asks for it again: the clock of its chain begins again too', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second, { after_s: '60', may_duplicate: true })]);
    await pool.query(`update sendledger.outbound_message set state = 'cancelled' where id = $1 and state = 'pending'`, [
      message.id,
    ]);
    await pool.query('update sendledger.fallback set look_at = null');
    const again = await durably(pool, (sql) => replay(sql, { message, who: 'meera', why: 'a mistake' }));
    expect(again.answer).toBe('created');
    const [timer] = await rowsOf<{ waits: boolean }>(pool, 'select look_at > now() as waits from sendledger.fallback');
    expect(timer).toEqual({ waits: true });
  });
});

describe('a newer code for the same recipient and purpose (FC-52)', () => {
  const code = (pool: pg.Pool, s: Scene, fallback: readonly object[]) =>
    enqueue(pool, [{ route: s.name, messageClass: 'otp', more: { fallback } }]);

  test('takes the place of what would be sent instead of an older one', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const older = only(await code(pool, first, [step(second, { template_id: 'code', template_version: '1' })]));
    await claim(pool, claimRequest(first, 'otp'));
    const submission = only(await markNext(pool, markRequest(first, 'otp')));
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'refused')]));
    await code(pool, first, []);
    expect(await take(pool, older)).toMatchObject({ answer: 'superseded' });
    expect(await undeliverable(pool, 10)).toEqual([]);
  });

  test('also one whose transaction is still open', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const older = only(await code(pool, first, [step(second, { template_id: 'code', template_version: '1' })]));
    await claim(pool, claimRequest(first, 'otp'));
    const submission = only(await markNext(pool, markRequest(first, 'otp')));
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(submission, 'refused')]));
    const [newer, asking] = [await pool.connect(), await pool.connect()];
    await newer.query('begin');
    await enqueue(newer, [{ route: first.name, messageClass: 'otp' }]);
    await asking.query('begin');
    const taken = fallBack(asking, older);
    expect(await untilWaiting(pool, asking, taken)).toBe('waits');
    await newer.query('commit');
    expect(await taken).toMatchObject({ answer: 'superseded' });
    await asking.query('commit');
    newer.release();
    asking.release();
  });
});

describe('a cancellation covers what the system makes, whenever it makes it (FC-46)', () => {
  test('a step that is taken while the fact is not committed yet is not sent', async ({ freshDatabase: { pool } }) => {
    const { first, second } = await twoRoutes(pool);
    const message = await chained(pool, first, [step(second)]);
    await through(pool, first, 'refused');
    const { business_key: businessKey } = await row(pool, message.id);
    const caller = await pool.connect();
    await caller.query('begin');
    await caller.query(
      `select sendledger.record_cancellation('shop', 'key', null, $1, null, null, null, null, null, 'a person', 'too late', null)`,
      [businessKey],
    );
    const taken = await take(pool, message);
    expect(taken.answer).toBe('created');
    await caller.query('commit');
    caller.release();
    expect(await claim(pool, claimRequest(second))).toMatchObject({ rows: 0, cancelled: 1 });
    expect(await stateOf(pool, taken.message?.id ?? '')).toBe('cancelled');
  });

  test('what a person asks for after it is sent', async ({ freshDatabase: { pool } }) => {
    const { first } = await twoRoutes(pool);
    const message = await chained(pool, first, []);
    const { business_key: businessKey } = await row(pool, message.id);
    await cancelCovered((work) => durably(pool, work), {
      tenantId: 'shop',
      target: { kind: 'key', businessKey },
      by: 'a test',
      why: 'to see',
    });
    const again = await durably(pool, (sql) => replay(sql, { message, who: 'meera', why: 'a mistake' }));
    expect(again.answer).toBe('created');
    expect(await claim(pool, claimRequest(first))).toMatchObject({ rows: 1, cancelled: 0 });
  });
});
