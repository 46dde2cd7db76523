import { randomUUID } from 'node:crypto';
import { test as base } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  cancelMessage,
  claim,
  durably,
  type ReplayAnswer,
  type ReplayRequest,
  type RowRef,
  replay,
  rowsOf,
} from '../../src/ledger/index.ts';
import { asRole, importMessage, importSubmission } from '../schema/rows.ts';
import { claimRequest, marked, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene, stateOf } from './scene.ts';

/** A pool whose sessions are an application's. */
const test = base.extend('asProducer', { scope: 'file' }, async ({ database }, { onCleanup }) => {
  const pool = new pg.Pool({ connectionString: database.urlFor('sendledger_producer'), max: 2 });
  onCleanup(() => pool.end());
  return pool;
});

const ask = (pool: pg.Pool, message: RowRef, change: Partial<ReplayRequest> = {}): Promise<ReplayAnswer> =>
  durably(pool, (sql) => replay(sql, { message, who: 'asha', why: 'the customer called', ...change }));

/** Everything of a message's business key: all its rows and the key, to the last column. */
async function everything(pool: pg.Pool, message: RowRef) {
  return rowsOf<{ row: string; key: string | null }>(
    pool,
    `select m::text as row, k::text as key from sendledger.outbound_message o
     join sendledger.outbound_message m on m.tenant_id = o.tenant_id and m.business_key = o.business_key
     left join sendledger.message_key k on k.tenant_id = m.tenant_id and k.business_key = m.business_key
     where o.id = $1 order by m.id`,
    [message.id],
  );
}

async function logOf(pool: pg.Pool, message: RowRef) {
  return rowsOf<Record<string, unknown>>(
    pool,
    `select who, action, subject, why, message_id, details->>'answer' as answer, details->>'successor' as successor
     from sendledger.audit_log where subject = 'message ' || $1 order by id`,
    [message.id],
  );
}

type Arrive = (pool: pg.Pool, s: Scene) => Promise<RowRef>;

/** One message that left `claimed` with this outcome. */
const outcome =
  (state: Parameters<typeof outcomeOf>[1], to?: 'submitted' | 'rejected' | 'retry' | 'unknown'): Arrive =>
  async (pool, s) => {
    const m = only(await marked(pool, s));
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(m, state, to === undefined ? {} : { to })]));
    const row = only(m.rows);
    return { id: row.id, createdAt: row.createdAt };
  };

/** As `before`, then a legal move of the state. */
const then =
  (before: Arrive, set: string): Arrive =>
  async (pool, s) => {
    const message = await before(pool, s);
    await pool.query(`update sendledger.outbound_message set ${set} where id = $1`, [message.id]);
    return message;
  };

const pending: Arrive = async (pool, s) => only(await enqueue(pool, [{ route: s.name }]));
const accepted = outcome('accepted');
const unknown = outcome('ambiguous');
const failed = then(unknown, `state = 'failed', state_reason = 'absent'`);
const cancelled: Arrive = async (pool, s) => {
  const message = await pending(pool, s);
  const request = { tenantId: 'shop', message, requestedBy: 'test', reason: 'test' };
  expect(await cancelMessage(pool, request)).toBe('cancelled');
  return message;
};

/** A row from elsewhere, with its key. */
const imported =
  (state: 'superseded' | 'expired', columns: Record<string, unknown> = {}): Arrive =>
  async (pool, s) => {
    const submission = state === 'superseded' ? null : await importSubmission(pool, 'accepted', s.routeId);
    const row = await importMessage(pool, state, s.routeId, submission, columns);
    await asRole(pool, 'sendledger_import', (sql) =>
      sql.query(
        `insert into sendledger.message_key (tenant_id, business_key, message_id, message_created_at, content_hash)
         select tenant_id, business_key, id, created_at, '\\x00' from sendledger.outbound_message where id = $1`,
        [row.id],
      ),
    );
    return { id: row.id, createdAt: row.created_at };
  };

describe('refused: the row and its key stay as they are, and no row is made', () => {
  const cases: readonly [string, ReplayAnswer['answer'], Arrive, Partial<ReplayRequest>?][] = [
    ['pending', 'open', pending],
    [
      'claimed',
      'open',
      async (pool, s) => {
        const message = await pending(pool, s);
        await claim(pool, claimRequest(s));
        return message;
      },
    ],
    ['on the wire', 'open', async (pool, s) => only(only(await marked(pool, s)).rows)],
    ['retry', 'open', outcome('not_sent')],
    ['submitted', 'open', accepted],
    ['unknown', 'unknown', unknown],
    ['unknown, although a duplicate would do', 'unknown', unknown, { mayDuplicate: true }],
    ['delivered', 'delivered', then(accepted, `state = 'delivered', delivered_at = now()`)],
    [
      'delivered, although a duplicate would do',
      'delivered',
      then(accepted, `state = 'delivered', delivered_at = now()`),
      { mayDuplicate: true },
    ],
    ['superseded', 'superseded', imported('superseded')],
    ['expired and billed', 'may_duplicate', then(accepted, `state = 'expired', state_reason = 'no_receipt'`)],
    ['expired, imported without its cost', 'may_duplicate', imported('expired', { cost_source: 'imported' })],
    ['failed, with words that contradict each other', 'may_duplicate', then(failed, 'conflict = true')],
    [
      'billed after its close',
      'may_duplicate',
      then(
        failed,
        `billed_after_close_at = now(), cost = quoted_cost, billable_units = quoted_units, cost_currency = quoted_currency, cost_source = 'evidence'`,
      ),
    ],
    ['of another tenant', 'not_found', failed, { tenantId: 'another' }],
    ['of no such route', 'no_route', failed, { route: 'nowhere' }],
    ['worthless by then', 'too_late', failed, { submitBy: new Date(0) }],
    [
      'a forgotten key',
      'key_forgotten',
      async (pool, s) => {
        const message = await failed(pool, s);
        const key =
          'from sendledger.outbound_message m where m.id = $1 and (k.tenant_id, k.business_key) = (m.tenant_id, m.business_key)';
        await pool.query(`update sendledger.message_key k set forget_after = now() - interval '1 s' ${key}`, [
          message.id,
        ]);
        await pool.query(`delete from sendledger.message_key k using ${key.slice(5)}`, [message.id]);
        return message;
      },
    ],
  ];
  for (const [what, answer, arrive, change] of cases)
    test(`${what}: ${answer}`, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const message = await arrive(pool, s);
      const before = await everything(pool, message);
      const refused = await ask(pool, message, change);
      expect(refused).toMatchObject({
        answer,
        message: null,
        attemptKey: null,
        lane: null,
        reason: expect.any(String),
      });
      expect(refused.replaces).toEqual(message);
      expect(await everything(pool, message)).toEqual(before);
      // Who asked, and for what, is kept.
      expect(await logOf(pool, message)).toEqual([
        {
          who: 'asha',
          action: 'replay_refused',
          subject: `message ${message.id}`,
          why: 'the customer called',
          message_id: answer === 'not_found' ? null : message.id,
          answer,
          successor: null,
        },
      ]);
    });

  test('redacted', async ({ freshDatabase: { pool } }) => {
    const message = await failed(pool, await scene(pool));
    await pool.query(`select sendledger.redact_final(now() + interval '1 s', 10)`);
    const before = await everything(pool, message);
    expect(await ask(pool, message)).toMatchObject({ answer: 'redacted', message: null });
    expect(await everything(pool, message)).toEqual(before);
  });

  test('a message that is not there', async ({ database: { pool } }) => {
    expect(await ask(pool, { id: '999999999', createdAt: new Date() })).toMatchObject({ answer: 'not_found' });
  });

  test('a route that cannot carry it as it was counted and numbered', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const other = await scene(pool, { encodingRule: 'ascii' });
    const [message] = await enqueue(pool, [{ route: s.name, body: 'Größe €' }]);
    if (message === undefined) throw new Error('nothing enqueued');
    await pool.query(`update sendledger.outbound_message set state = 'expired' where id = $1`, [message.id]);
    expect(await ask(pool, message, { route: other.name })).toMatchObject({ answer: 'no_route' });
    await pool.query(`update sendledger.route set encoding_rule = 'gsm7', national_digits = 12 where id = $1`, [
      other.routeId,
    ]);
    expect(await ask(pool, message, { route: other.name })).toMatchObject({
      answer: 'no_route',
      reason: expect.stringContaining('national'),
    });
    await pool.query('update sendledger.route set national_digits = 10, sender_required = true where id = $1', [
      other.routeId,
    ]);
    expect(await ask(pool, message, { route: other.name })).toMatchObject({
      answer: 'no_route',
      reason: expect.stringContaining('sender'),
    });
    await pool.query(`update sendledger.route set default_sender_id = 'SHOPIN' where id = $1`, [other.routeId]);
    const made = await ask(pool, message, { route: other.name });
    expect(made).toMatchObject({ answer: 'created' });
    expect(
      await rowsOf(pool, 'select route_id, sender_id from sendledger.outbound_message where id = $1', [
        made.message?.id,
      ]),
    ).toEqual([{ route_id: other.routeId, sender_id: 'SHOPIN' }]);
  });

  test('without a person or a reason, before anything is asked', async ({ database: { pool } }) => {
    const message = await failed(pool, await scene(pool));
    for (const change of [{ who: ' ' }, { why: '' }])
      await expect(ask(pool, message, change)).rejects.toMatchObject({ code: 'SENDLEDGER_REASON_NEEDED' });
    expect(await logOf(pool, message)).toEqual([]);
  });
});

describe('created', () => {
  const may = { mayDuplicate: true };
  const cases: readonly [string, Arrive, Partial<ReplayRequest>?][] = [
    ['failed, never billed', failed],
    ['failed by a receipt, and billed', then(accepted, `state = 'failed', state_reason = 'receipt'`)],
    ['rejected', outcome('refused')],
    ['expired before it was sent', then(pending, `state = 'expired', state_reason = 'submit_by_passed'`)],
    ['expired after a try that was proven not sent', then(outcome('not_sent'), `state = 'expired'`)],
    ['cancelled', cancelled],
    ['expired and billed', then(accepted, `state = 'expired', state_reason = 'no_receipt'`), may],
    ['expired, imported without its cost', imported('expired', { cost_source: 'imported' }), may],
    ['conflict', then(failed, 'conflict = true'), may],
    [
      'billed after its close',
      then(
        failed,
        `billed_after_close_at = now(), cost = quoted_cost, billable_units = quoted_units, cost_currency = quoted_currency, cost_source = 'evidence'`,
      ),
      may,
    ],
  ];
  for (const [what, arrive, change] of cases)
    test(what, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const message = await arrive(pool, s);
      const [before] = await rowsOf<Record<string, unknown>>(
        pool,
        'select * from sendledger.outbound_message where id = $1',
        [message.id],
      );
      const made = await ask(pool, message, change);
      expect(made).toMatchObject({ answer: 'created', lane: `${s.routeId}.transactional`, reason: null });
      // The first is as it was, to the last column.
      const [first] = await rowsOf<Record<string, unknown>>(
        pool,
        'select * from sendledger.outbound_message where id = $1',
        [message.id],
      );
      expect(first).toEqual(before);
      const [successor] = await rowsOf<Record<string, unknown>>(
        pool,
        'select * from sendledger.outbound_message where id = $1',
        [made.message?.id],
      );
      const same = ['tenant_id', 'business_key', 'event_type', 'event_id', 'channel', 'message_class', 'recipient', 'country',
        'sender_id', 'body', 'encoding', 'segments', 'template_id', 'route_id', 'provider', 'on_proven_absent']; // biome-ignore format: a list
      for (const column of same) expect([column, successor?.[column]]).toEqual([column, first?.[column]]);
      expect(successor).toMatchObject({
        created_at: made.message?.createdAt,
        attempt_key: made.attemptKey,
        replaces_id: message.id,
        replaces_created_at: message.createdAt,
        state: 'pending',
        state_reason: null,
        attempt_count: 0,
        conflict: false,
      });
      expect(successor?.attempt_key).not.toBe(first?.attempt_key);
      const past = ['submission_id', 'provider_txn_id', 'provider_message_id', 'claimed_at', 'requested_at', 'submitted_at',
        'receipt_by', 'delivered_at', 'quoted_cost', 'cost', 'cost_source', 'billed_after_close_at']; // biome-ignore format: a list
      for (const column of past) expect([column, successor?.[column]]).toEqual([column, null]);
      expect(
        await rowsOf(
          pool,
          'select message_id, message_created_at, forget_after from sendledger.message_key where business_key = $1',
          [first?.business_key],
        ),
      ).toEqual([{ message_id: made.message?.id, message_created_at: made.message?.createdAt, forget_after: null }]);
      expect(await logOf(pool, message)).toMatchObject([
        { action: 'replay', who: 'asha', successor: made.message?.id },
      ]);
      // It has a successor now.
      expect(await ask(pool, message, may)).toMatchObject({
        answer: 'replaced',
        reason: expect.stringContaining(`message ${made.message?.id}`),
      });
    });

  test('the same event afterwards is a duplicate of the successor, and claim takes it', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const event = randomUUID();
    const message = only(await enqueue(pool, [{ route: s.name, event }]));
    await pool.query(`update sendledger.outbound_message set state = 'expired' where id = $1`, [message.id]);
    const made = await ask(pool, message);
    const again = { tenant_id: 'shop', channel: 'sms', message_class: 'transactional', recipient: '919999999999', country: 'IN',
      event_type: 'order', event_id: event, body: 'Your order is ready', encoding: 'GSM7', segments: '1', route: s.name }; // biome-ignore format: one message
    expect(
      await rowsOf(pool, 'select answer, message_id, attempt_key from sendledger.enqueue($1::json)', [
        JSON.stringify([again]),
      ]),
    ).toEqual([{ answer: 'duplicate', message_id: made.message?.id, attempt_key: made.attemptKey }]);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1 });
    expect(await stateOf(pool, made.message?.id ?? '')).toBe('claimed');
  });

  test('its submit_by is the one that was said, whatever the schedule; else what the lane says', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const deadline = async (message: RowRef, change: Partial<ReplayRequest>) => {
      const made = await ask(pool, message, change);
      const [row] = await rowsOf<{ submit_by: Date; created_at: Date }>(
        pool,
        'select submit_by, created_at from sendledger.outbound_message where id = $1',
        [made.message?.id],
      );
      return { at: row?.submit_by, withinMs: Number(row?.submit_by) - Number(row?.created_at) };
    };
    const soon = new Date(Date.now() + 120_000);
    const past = then(pending, `scheduled_for = now() - interval '5 min', state = 'expired'`);
    expect((await deadline(await past(pool, s), { submitBy: soon })).at).toEqual(soon);
    expect(Math.abs((await deadline(await past(pool, s), {})).withinMs - 3_600_000)).toBeLessThan(1000);
    const ahead = then(
      pending,
      `scheduled_for = now() + interval '2 h', due_at = now() + interval '2 h', submit_by = now() + interval '3 h', state = 'cancelled'`,
    );
    expect(Math.abs((await deadline(await ahead(pool, s), {})).withinMs - 3 * 3_600_000)).toBeLessThan(1000);
    expect(await ask(pool, await ahead(pool, s), { submitBy: soon })).toMatchObject({ answer: 'too_late' });
  });

  for (const many of [2, 16])
    test(`${many} at once make one successor`, async ({ database: { pool } }) => {
      const message = await failed(pool, await scene(pool));
      const answers = await Promise.all(Array.from({ length: many }, () => ask(pool, message)));
      expect(answers.map((a) => a.answer).sort()).toEqual(['created', ...Array(many - 1).fill('replaced')]);
      expect(await everything(pool, message)).toHaveLength(2);
    });

  test('an application may too; its refusal is kept although it may write nothing there itself', async ({
    database: { pool },
    asProducer,
  }) => {
    const s = await scene(pool);
    const message = await unknown(pool, s);
    expect(await ask(asProducer, message, { tenantId: 'shop' })).toMatchObject({ answer: 'unknown' });
    expect(await logOf(pool, message)).toMatchObject([{ action: 'replay_refused', answer: 'unknown' }]);
    expect(await ask(asProducer, await failed(pool, s), { tenantId: 'shop' })).toMatchObject({ answer: 'created' });
  });
});

describe('by itself, because absence was proven', () => {
  const byItself = { who: 'sendledger', why: 'absent', automatic: true };

  test('inside its own submit_by, and where its sender wants it', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const message = await failed(pool, s);
    const made = await ask(pool, message, byItself);
    expect(made).toMatchObject({ answer: 'created' });
    expect(
      await rowsOf(
        pool,
        'select a.submit_by = b.submit_by as same from sendledger.outbound_message a, sendledger.outbound_message b where a.id = $1 and b.id = $2',
        [message.id, made.message?.id],
      ),
    ).toEqual([{ same: true }]);
  });

  const refused: readonly [string, ReplayAnswer['answer'], string][] = [
    ['its sender wants none', 'stopped', `on_proven_absent = 'stop'`],
    ['its time is over', 'too_late', `submit_by = now()`],
  ];
  for (const [what, answer, set] of refused)
    test(`${what}: ${answer}, and nothing is logged as a person's wish`, async ({ database: { pool } }) => {
      const message = await then(failed, set)(pool, await scene(pool));
      expect(await ask(pool, message, byItself)).toMatchObject({ answer });
      expect(await everything(pool, message)).toHaveLength(1);
      expect(await logOf(pool, message)).toEqual([]);
    });

  const COLUMNS: Readonly<Record<string, string>> = {
    message: `(tenant_id, kind, message_id, requested_by, reason) select tenant_id, 'message', id, 'x', 'x'`,
    key: `(tenant_id, kind, business_key, requested_by, reason) select tenant_id, 'key', business_key, 'x', 'x'`,
    event: `(tenant_id, kind, event_type, event_id, requested_by, reason) select tenant_id, 'event', event_type, event_id, 'x', 'x'`,
    campaign: `(tenant_id, kind, campaign_id, requested_by, reason) select tenant_id, 'campaign', campaign_id, 'x', 'x'`,
    'tenant, of a class': `(tenant_id, kind, message_class, covers_until, requested_by, reason) select tenant_id, 'tenant', message_class, now(), 'x', 'x'`,
  };
  for (const [kind, columns] of Object.entries(COLUMNS))
    test(`cancelled meanwhile by ${kind}: not again; a person's replay is not covered, and claim takes it`, async ({
      database: { pool },
    }) => {
      const s = await scene(pool);
      // A tenant of its own: a filter over all of it must meet no other test.
      const tenant = randomUUID();
      await enqueue(pool, [{ route: s.name, tenant }]);
      await pool.query(`update sendledger.outbound_message set campaign_id = 'spring' where tenant_id = $1`, [tenant]);
      const m = only(await marked(pool, s, []));
      await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(m, 'ambiguous')]));
      const message = only(m.rows);
      await pool.query(
        `insert into sendledger.cancellation ${columns} from sendledger.outbound_message where id = $1`,
        [message.id],
      );
      await pool.query(
        `update sendledger.outbound_message set state = 'failed', state_reason = 'absent' where id = $1`,
        [message.id],
      );
      expect(await ask(pool, message, byItself)).toMatchObject({ answer: 'cancelled', message: null });

      const made = await ask(pool, message);
      expect(made).toMatchObject({ answer: 'created' });
      const second = only(await marked(pool, s, []));
      expect(only(second.rows).id).toBe(made.message?.id);
      // And when absence is proven of that one too, it is sent again by itself: nothing was cancelled since.
      await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(second, 'ambiguous')]));
      await pool.query(
        `update sendledger.outbound_message set state = 'failed', state_reason = 'absent' where id = $1`,
        [made.message?.id],
      );
      expect(await ask(pool, only(second.rows), byItself)).toMatchObject({ answer: 'created' });
    });
});

describe('FC-02: to another provider only what was proven not accepted', () => {
  /** What an outcome leaves of a row, for each fault there is: the closed set of outcomes, with how far a refusal reaches. */
  const FAULTS: readonly {
    readonly fault: string;
    readonly left: string;
    readonly arrive: Arrive;
    readonly answer: ReplayAnswer['answer'];
  }[] = [
    { fault: 'accepted', left: 'submitted', arrive: accepted, answer: 'open' },
    { fault: 'accepted, this number refused in it', left: 'rejected', arrive: outcome('accepted', 'rejected'), answer: 'created' },
    { fault: 'accepted, this number not accounted for', left: 'unknown', arrive: outcome('accepted', 'unknown'), answer: 'unknown' },
    { fault: 'refused for good, or not buildable', left: 'rejected', arrive: outcome('refused'), answer: 'created' },
    { fault: 'refused for now, tries used up', left: 'rejected', arrive: outcome('refused', 'rejected'), answer: 'created' },
    // Refused for now, by the account or for speed: its own route tries again, and a row has one way at a time.
    { fault: 'refused for now, account or speed', left: 'retry', arrive: outcome('refused', 'retry'), answer: 'open' },
    { fault: 'refused for now, until its time was over', left: 'expired', arrive: then(outcome('refused', 'retry'), `state = 'expired'`), answer: 'created' },
    { fault: 'not sent: no name, no connection, no TLS, or our own send budget', left: 'retry', arrive: outcome('not_sent'), answer: 'open' },
    { fault: 'not sent, until its time was over', left: 'expired', arrive: then(outcome('not_sent'), `state = 'expired'`), answer: 'created' },
    { fault: 'a timeout, a broken connection, an unmapped code', left: 'unknown', arrive: unknown, answer: 'unknown' },
    { fault: 'ambiguous, then proven absent', left: 'failed', arrive: failed, answer: 'created' },
    { fault: 'ambiguous, then found', left: 'submitted',
      arrive: then(unknown, `state = 'submitted', submitted_at = requested_at, billable_units = quoted_units, cost = quoted_cost, cost_currency = quoted_currency, cost_source = 'evidence'`),
      answer: 'open' },
    { fault: 'accepted, without a receipt in its time', left: 'expired', arrive: then(accepted, `state = 'expired'`), answer: 'may_duplicate' },
  ]; // biome-ignore format: a table

  for (const { fault, left, arrive, answer } of FAULTS)
    test(`${fault}: ${left}, replayed through another route: ${answer}`, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const other = await scene(pool);
      await pool.query(`update sendledger.route set provider = 'another' where id = $1`, [other.routeId]);
      const message = await arrive(pool, s);
      expect(await stateOf(pool, message.id)).toBe(left);
      const got = await ask(pool, message, { route: other.name });
      expect(got).toMatchObject({ answer });
      const rows = await rowsOf<{ route_id: string; provider: string }>(
        pool,
        'select route_id, provider from sendledger.outbound_message where replaces_id = $1',
        [message.id],
      );
      expect(rows).toEqual(answer === 'created' ? [{ route_id: other.routeId, provider: 'another' }] : []);
      expect(await logOf(pool, message)).toMatchObject([
        { action: answer === 'created' ? 'replay' : 'replay_refused' },
      ]);
      expect(await stateOf(pool, message.id)).toBe(left);
      // Off: nothing goes to another provider by itself.
      if (answer !== 'created') expect(await claim(pool, claimRequest(other))).toMatchObject({ rows: 0 });
    });
});
