import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import { describe, expect } from 'vitest';
import { cancelMessage, claim, rowsOf } from '../../src/ledger/index.ts';
import { claimedMessage, claimRequest } from './on-the-way.ts';
import { enqueue, scene, stateOf } from './scene.ts';

describe('many claimers on one lane', () => {
  test('16 of them and 10 000 rows: each row is claimed once', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { maxBatch: 50 });
    await pool.query('update sendledger.route set max_open_submissions = 100000 where id = $1', [s.routeId]);
    for (let i = 0; i < 10; i++)
      await enqueue(
        pool,
        // Three texts, and numbers that come again: what shares a request and what must not.
        Array.from({ length: 1000 }, (_, n) => ({
          route: s.name,
          recipient: `9190000${String(n % 400).padStart(5, '0')}`,
          body: `text ${n % 3}`,
        })),
      );
    const claimer = async () => {
      let rows = 0;
      for (;;) {
        const claimed = await claim(pool, claimRequest(s, 'transactional', 200));
        rows += claimed.rows;
        if (!claimed.more) return rows;
      }
    };
    const counts = await Promise.all(Array.from({ length: 16 }, claimer));
    // Rows that another claimer held were skipped, so a claimer may have stopped before the last of them was done.
    const rest = await claimer();
    expect(counts.reduce((a, b) => a + b, rest)).toBe(10_000);

    expect(
      await rowsOf(pool, `select state, count(*)::int as n from sendledger.outbound_message group by state`),
    ).toEqual([{ state: 'claimed', n: 10_000 }]);
    expect(
      await rowsOf(
        pool,
        `select s.id from sendledger.submission s left join sendledger.outbound_message m on m.submission_id = s.id
         group by s.id, s.size having count(m.id) <> s.size`,
      ),
    ).toEqual([]);
    expect(
      await rowsOf(
        pool,
        `select submission_id from sendledger.outbound_message group by submission_id
         having count(*) <> count(distinct recipient) or count(distinct body) <> 1 or count(*) > 50`,
      ),
    ).toEqual([]);
  });
});

describe('without a rate', () => {
  test('rows stay pending, are looked at later, and are reviewed once per price key', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool, { rate: false });
    await pool.query(
      `insert into sendledger.rate_card (route_id, price_key, currency, price) values ($1, 'transactional:US', 'USD', 0.01)`,
      [s.routeId],
    );
    await enqueue(pool, [{ route: s.name }, { route: s.name, recipient: '919000000001' }]);
    await enqueue(pool, [{ route: s.name, messageClass: 'otp' }]);
    for (let i = 0; i < 3; i++) {
      expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0, submissions: 0, unpriced: i === 0 ? 2 : 0 });
      expect(await claim(pool, claimRequest(s, 'otp'))).toMatchObject({ rows: 0, unpriced: i === 0 ? 1 : 0 });
    }
    expect(
      await rowsOf(
        pool,
        `select state, state_reason, submission_id, attempt_count, due_at >= now() + interval '25 s' as later, quoted_cost
         from sendledger.outbound_message`,
      ),
    ).toEqual(
      Array.from({ length: 3 }, () => ({
        state: 'pending',
        state_reason: 'no_rate',
        submission_id: null,
        attempt_count: 0,
        later: true,
        quoted_cost: null,
      })),
    );
    expect(await rowsOf(pool, 'select kind, subject from sendledger.review_item order by subject')).toEqual([
      { kind: 'no_rate', subject: `route ${s.routeId} otp:IN` },
      { kind: 'no_rate', subject: `route ${s.routeId} transactional:IN` },
    ]);
  });

  test('the pause grows with the age of the row, to an hour', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { rate: false });
    const pauseAt = async (age: string) => {
      const [row] = await enqueue(pool, [{ route: s.name, submitBy: '2999-01-01T00:00:00Z' }]);
      const client = await pool.connect();
      try {
        await client.query('begin; set local session_replication_role = replica');
        await client.query(
          `update sendledger.outbound_message set created_at = date_trunc('milliseconds', now() - $2::interval), due_at = now() - interval '1 s'
           where id = $1`,
          [row?.id, age],
        );
        await client.query('commit');
      } finally {
        client.release();
      }
      await claim(pool, claimRequest(s));
      const [found] = await rowsOf<{ seconds: number }>(
        pool,
        `select extract(epoch from due_at - updated_at)::int as seconds from sendledger.outbound_message where id = $1`,
        [row?.id],
      );
      return found?.seconds;
    };
    expect([await pauseAt('1 s'), await pauseAt('10 min'), await pauseAt('2 h')]).toEqual([30, 600, 3600]);
  });

  test('with the rate the row is claimed, and its reason is gone', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { rate: false });
    const [row] = await enqueue(pool, [{ route: s.name }]);
    await claim(pool, claimRequest(s));
    await pool.query(
      `insert into sendledger.rate_card (route_id, price_key, currency, price) values
         ($1, '*', 'INR', 1), ($1, 'transactional:*', 'INR', 2), ($1, 'transactional:IN', 'INR', 3)`,
      [s.routeId],
    );
    await pool.query(`update sendledger.outbound_message set due_at = now() where id = $1`, [row?.id]);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1 });
    // The most exact rate is the price.
    expect(
      await rowsOf(pool, `select state, state_reason, quoted_cost, quoted_units from sendledger.outbound_message`),
    ).toEqual([{ state: 'claimed', state_reason: null, quoted_cost: '3.0000', quoted_units: 1 }]);
  });

  test('a rate that is over, or not begun, is none', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { rate: false });
    await pool.query(
      `insert into sendledger.rate_card (route_id, price_key, currency, price, valid) values
         ($1, '*', 'INR', 1, tstzrange(null, now() - interval '1 s')), ($1, '*', 'INR', 1, tstzrange(now() + interval '1 h', null))`,
      [s.routeId],
    );
    await enqueue(pool, [{ route: s.name }]);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0, unpriced: 1 });
  });
});

describe('what shares a request', () => {
  test('two events with equal text to one number: two submissions', async ({ database: { pool } }) => {
    const s = await scene(pool);
    await enqueue(pool, [
      { route: s.name, event: randomUUID() },
      { route: s.name, event: randomUUID() },
    ]);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 2, submissions: 2 });
  });

  test('other tenant or other text: another submission', async ({ database: { pool } }) => {
    const s = await scene(pool);
    await enqueue(pool, [
      { route: s.name, recipient: '919000000001' },
      { route: s.name, recipient: '919000000002' },
      { route: s.name, recipient: '919000000003', tenant: 'other' },
      { route: s.name, recipient: '919000000004', body: 'another text' },
    ]);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 4, submissions: 3 });
  });

  test('one-time passwords never, even with equal text', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 500 });
    await enqueue(
      pool,
      Array.from({ length: 20 }, (_, i) => ({
        route: s.name,
        recipient: `9190000000${String(i).padStart(2, '0')}`,
        messageClass: 'otp' as const,
      })),
    );
    expect(await claim(pool, claimRequest(s, 'otp'))).toMatchObject({ rows: 20, submissions: 20 });
    expect(
      await rowsOf(pool, 'select distinct size from sendledger.submission where route_id = $1', [s.routeId]),
    ).toEqual([{ size: 1 }]);
  });
});

describe('what is left where it is', () => {
  test('rows whose submit_by ends within the lease, and rows that are not due', async ({ database: { pool } }) => {
    const s = await scene(pool);
    await enqueue(pool, [{ route: s.name, submitBy: new Date(Date.now() + 300_000).toISOString() }]);
    const [later] = await enqueue(pool, [{ route: s.name, recipient: '919000000001' }]);
    await pool.query(`update sendledger.outbound_message set due_at = now() + interval '1 h' where id = $1`, [
      later?.id,
    ]);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0 });
    expect(await claim(pool, { ...claimRequest(s), leaseMs: 1000 })).toMatchObject({ rows: 1 });
  });

  test('everything, where the route has no room for open submissions', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await pool.query('update sendledger.route set max_open_submissions = 2 where id = $1', [s.routeId]);
    await enqueue(
      pool,
      Array.from({ length: 3 }, () => ({ route: s.name })),
    );
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 2, submissions: 2 });
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0 });
  });

  test('not_after is the earliest submit_by of the rows', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
    await enqueue(pool, [
      { route: s.name, recipient: '919000000001', submitBy: at(50) },
      { route: s.name, recipient: '919000000002', submitBy: at(40) },
      { route: s.name, recipient: '919000000003', submitBy: at(60) },
    ]);
    await claim(pool, claimRequest(s));
    expect(
      await rowsOf(
        pool,
        `select s.size, s.not_after = (select min(m.submit_by) from sendledger.outbound_message m where m.submission_id = s.id) as earliest
         from sendledger.submission s where s.route_id = $1`,
        [s.routeId],
      ),
    ).toEqual([{ size: 3, earliest: true }]);
  });
});

describe('rows a cancellation covers', () => {
  const cancellations: Readonly<Record<string, { columns: string; values: string; covered: boolean }>> = {
    'by message': { columns: 'kind, message_id', values: "'message', $1::bigint", covered: true },
    'by key': { columns: 'kind, business_key', values: "'key', $2", covered: true },
    'by event': { columns: 'kind, event_type, event_id', values: "'event', 'order', $3", covered: true },
    'by campaign': { columns: 'kind, campaign_id', values: "'campaign', 'spring'", covered: true },
    'by tenant': { columns: 'kind, covers_until', values: "'tenant', now() + interval '1 h'", covered: true },
    'by tenant and class': {
      columns: 'kind, covers_until, message_class',
      values: "'tenant', now() + interval '1 h', 'transactional'",
      covered: true,
    },
    'by tenant and another class': {
      columns: 'kind, covers_until, message_class',
      values: "'tenant', now() + interval '1 h', 'promotional'",
      covered: false,
    },
    'by tenant, up to a time before': {
      columns: 'kind, covers_until',
      values: "'tenant', now() - interval '1 h'",
      covered: false,
    },
    'of another message': { columns: 'kind, message_id', values: "'message', 0", covered: false },
    'of another event': { columns: 'kind, event_type, event_id', values: "'event', 'invoice', $3", covered: false },
    'of another campaign': { columns: 'kind, campaign_id', values: "'campaign', 'summer'", covered: false },
  };
  for (const [what, { columns, values, covered }] of Object.entries(cancellations))
    test(`${what}: the claim ${covered ? 'cancels them' : 'takes them'}`, async ({ freshDatabase: { pool } }) => {
      const s = await scene(pool);
      const [row] = await enqueue(pool, [{ route: s.name, event: 'e1' }]);
      await pool.query(`update sendledger.outbound_message set campaign_id = 'spring'`);
      const [found] = await rowsOf<{ business_key: string }>(
        pool,
        'select business_key from sendledger.outbound_message',
      );
      const given = [row?.id, found?.business_key, 'e1'];
      // Only the parameters a statement names may be given.
      const used = given.flatMap((value, i) => (values.includes(`$${i + 1}`) ? [value] : []));
      const renumbered = values.replace(/\$[123]/, '$1');
      await pool.query(
        `insert into sendledger.cancellation (tenant_id, requested_by, reason, ${columns}) values ('shop', 'test', 'test', ${renumbered})`,
        used,
      );
      expect(await claim(pool, claimRequest(s))).toMatchObject(
        covered ? { rows: 0, cancelled: 1 } : { rows: 1, cancelled: 0 },
      );
      expect(await stateOf(pool, row?.id ?? '')).toBe(covered ? 'cancelled' : 'claimed');
    });

  test('of another tenant: not covered', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool);
    await enqueue(pool, [{ route: s.name, event: 'e1' }]);
    await pool.query(
      `insert into sendledger.cancellation (tenant_id, requested_by, reason, kind, covers_until) values ('other', 't', 't', 'tenant', now() + interval '1 h')`,
    );
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1, cancelled: 0 });
  });
});

describe('cancelMessage', () => {
  const ask = (message: { id: string; createdAt: Date }, tenantId = 'shop') => ({
    tenantId,
    message,
    requestedBy: 'test',
    reason: 'test',
  });

  test('a waiting message: cancelled', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const [message] = await enqueue(pool, [{ route: s.name }]);
    if (message === undefined) throw new Error('nothing enqueued');
    expect(await cancelMessage(pool, ask(message))).toBe('cancelled');
    expect(await cancelMessage(pool, ask(message))).toBe('cancelled');
  });

  test('a claimed message: its submission is released, it is cancelled, and its companions wait again', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const [first, second] = await enqueue(pool, [
      { route: s.name, recipient: '919000000001' },
      { route: s.name, recipient: '919000000002' },
    ]);
    if (first === undefined || second === undefined) throw new Error('nothing enqueued');
    expect(await claim(pool, claimRequest(s))).toMatchObject({ submissions: 1 });
    expect(await cancelMessage(pool, ask(first))).toBe('cancelled');
    expect(await stateOf(pool, second.id)).toBe('pending');
  });

  test('of another tenant, or of nobody: not_found, and nothing is written', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const { message } = await claimedMessage(pool, s);
    expect(await cancelMessage(pool, ask(message, 'other'))).toBe('not_found');
    expect(await cancelMessage(pool, ask({ id: '999999999', createdAt: new Date() }))).toBe('not_found');
    expect(await stateOf(pool, message.id)).toBe('claimed');
    expect(await rowsOf(pool, 'select 1 from sendledger.cancellation where message_id = $1', [message.id])).toEqual([]);
  });
});
