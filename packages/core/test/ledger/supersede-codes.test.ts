import { randomUUID } from 'node:crypto';
import { test } from '@sendledger/local/fixtures';
import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import type { MessageClass } from '../../src/domain/state.ts';
import { applyOutcomes, claim, durably, markNext, markNextIn, rowsOf, type Sql } from '../../src/ledger/index.ts';
import { claimRequest, markRequest, outcomeOf } from './on-the-way.ts';
import { CODE_TEMPLATE, type EnqueuedRow, type Scene, scene } from './scene.ts';
import { untilWaiting } from './until-waiting.ts';

interface Code {
  readonly recipient?: string;
  readonly purpose?: string;
  readonly tenant?: string;
  readonly attempt?: string;
  readonly messageClass?: MessageClass;
}

/** A recipient that no other test has. */
const someone = () => `9198${String(Math.floor(Math.random() * 1e8)).padStart(8, '0')}`;

async function codes(sql: Sql, s: Scene, ...wanted: readonly Code[]): Promise<EnqueuedRow[]> {
  const rows = await rowsOf<{ answer: string; message_id: string; message_created_at: string; reason: string | null }>(
    sql,
    'select * from sendledger.enqueue($1::json)',
    [
      JSON.stringify(
        wanted.map((w) => ({
          tenant_id: w.tenant ?? 'shop',
          channel: 'sms',
          message_class: w.messageClass ?? 'otp',
          ...CODE_TEMPLATE,
          recipient: w.recipient,
          event_type: w.purpose ?? 'login',
          event_id: w.attempt ?? randomUUID(),
          body: 'Your code is 482915',
          encoding: 'GSM7',
          segments: '1',
          route: s.name,
        })),
      ),
    ],
  );
  return rows.map((row) => {
    if (row.message_id === null) throw new Error(`${row.answer}: ${row.reason}`);
    return { id: row.message_id, createdAt: new Date(row.message_created_at) };
  });
}

const one = async (sql: Sql, s: Scene, code: Code) => (await codes(sql, s, code))[0]?.id ?? '';

async function fate(pool: pg.Pool | pg.PoolClient, ...ids: readonly string[]) {
  const rows = await rowsOf<{ id: string; fate: string }>(
    pool,
    `select m.id, m.state || coalesce(' ' || m.state_reason, '') || case when c.id is null then '' else ' (fact)' end as fate
     from sendledger.outbound_message m left join sendledger.cancellation c on c.kind = 'message' and c.message_id = m.id
       and c.reason = 'superseded_by_newer_code' and c.requested_by = 'sendledger'
     where m.id = any ($1::bigint[])`,
    [ids],
  );
  return ids.map((id) => rows.find((row) => row.id === id)?.fate);
}

const SUPERSEDED = 'cancelled superseded_by_newer_code';

async function mark(pool: pg.Pool, s: Scene) {
  await claim(pool, claimRequest(s, 'otp'));
  return markNext(pool, markRequest(s, 'otp'));
}

describe('an older code, when a newer one for the same recipient and purpose is enqueued', () => {
  const cases: Readonly<Record<string, { older: string; go: (pool: pg.Pool, s: Scene) => Promise<unknown> }>> = {
    pending: { older: SUPERSEDED, go: async () => undefined },
    claimed: { older: SUPERSEDED, go: (pool, s) => claim(pool, claimRequest(s, 'otp')) },
    retry: {
      older: SUPERSEDED,
      go: async (pool, s) => {
        const marked = await mark(pool, s);
        await durably(pool, (sql) =>
          applyOutcomes(
            sql,
            marked.map((m) => outcomeOf(m, 'not_sent')),
          ),
        );
      },
    },
    // Left alone; the fact is for the case that it comes back.
    marked: { older: 'claimed (fact)', go: mark },
    submitted: {
      older: 'submitted',
      go: async (pool, s) => {
        const marked = await mark(pool, s);
        await durably(pool, (sql) =>
          applyOutcomes(
            sql,
            marked.map((m) => outcomeOf(m, 'accepted')),
          ),
        );
      },
    },
    unknown: {
      older: 'unknown ambiguous',
      go: async (pool, s) => {
        const marked = await mark(pool, s);
        await durably(pool, (sql) =>
          applyOutcomes(
            sql,
            marked.map((m) => outcomeOf(m, 'ambiguous')),
          ),
        );
      },
    },
  };
  for (const [state, { older, go }] of Object.entries(cases))
    test(`${state}: ${older}`, async ({ database: { pool } }) => {
      const s = await scene(pool);
      const recipient = someone();
      const first = await one(pool, s, { recipient });
      await go(pool, s);
      const second = await one(pool, s, { recipient });
      expect(await fate(pool, first, second)).toEqual([older, 'pending']);
      expect(await claim(pool, claimRequest(s, 'otp'))).toMatchObject({ rows: 1, cancelled: 0 });
      expect(await fate(pool, second)).toEqual(['claimed']);
    });

  test('marked, and proven not sent afterwards: it does not go out behind the newer one', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const recipient = someone();
    const first = await one(pool, s, { recipient });
    const marked = await mark(pool, s);
    const second = await one(pool, s, { recipient });
    await durably(pool, (sql) =>
      applyOutcomes(
        sql,
        marked.map((m) => outcomeOf(m, 'not_sent')),
      ),
    );
    expect(await fate(pool, first)).toEqual(['retry not_sent (fact)']);
    expect(await claim(pool, claimRequest(s, 'otp'))).toMatchObject({ rows: 1, cancelled: 1 });
    expect(await fate(pool, first, second)).toEqual(['cancelled cancelled (fact)', 'claimed']);
  });

  test('of another tenant, recipient or purpose, or no code at all: left alone', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const recipient = someone();
    const others = await codes(
      pool,
      s,
      { recipient, tenant: 'other' },
      { recipient: someone() },
      { recipient, purpose: 'payment' },
      { recipient, messageClass: 'transactional' },
      { recipient, messageClass: 'promotional' },
    );
    await one(pool, s, { recipient });
    expect(new Set(await fate(pool, ...others.map((row) => row.id)))).toEqual(new Set(['pending']));
  });

  test('a newer message of another class supersedes nothing, and neither does a repeat of the older or the newer code', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const recipient = someone();
    const [attempt, next] = [randomUUID(), randomUUID()];
    const first = await one(pool, s, { recipient, attempt });
    await one(pool, s, { recipient, messageClass: 'transactional' });
    expect(await one(pool, s, { recipient, attempt })).toBe(first);
    expect(await fate(pool, first)).toEqual(['pending']);
    const second = await one(pool, s, { recipient, attempt: next });
    expect(await one(pool, s, { recipient, attempt })).toBe(first);
    expect(await one(pool, s, { recipient, attempt: next })).toBe(second);
    expect(await fate(pool, first, second)).toEqual([SUPERSEDED, 'pending']);
  });

  test('the newer one rolls back, or is taken back to a savepoint: nothing happened to the older, and it is sent', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const client = await pool.connect();
    try {
      for (const state of ['pending', 'claimed', 'marked'] as const)
        for (const undo of ['rollback', 'rollback to savepoint before'] as const) {
          const recipient = someone();
          const first = await one(pool, s, { recipient });
          if (state !== 'pending') await claim(pool, claimRequest(s, 'otp'));
          if (state === 'marked') await markNext(pool, markRequest(s, 'otp'));
          await client.query('begin; savepoint before');
          await one(client, s, { recipient });
          expect(await fate(client, first)).toEqual([state === 'marked' ? 'claimed (fact)' : SUPERSEDED]);
          await client.query(undo);
          await client.query('commit');
          expect(await fate(pool, first)).toEqual([state === 'pending' ? 'pending' : 'claimed']);
          if (state === 'pending') await claim(pool, claimRequest(s, 'otp'));
          if (state !== 'marked') expect(await markNext(pool, markRequest(s, 'otp'))).toHaveLength(1);
        }
    } finally {
      await client.query('rollback');
      client.release();
    }
  });

  test('several in one call: the last one of each recipient and purpose is the newest', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const [a, b] = [someone(), someone()];
    const rows = await codes(pool, s, ...[a, b, a, b, a].map((recipient) => ({ recipient })), {
      recipient: b,
      purpose: 'payment',
    });
    const ids = rows.map((row) => row.id);
    expect(await fate(pool, ...ids)).toEqual([SUPERSEDED, SUPERSEDED, SUPERSEDED, 'pending', 'pending', 'pending']);
  });
});

describe('at the same time', () => {
  test('two newer codes: the second waits for its turn, and the one that came second remains', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const recipient = someone();
    const oldest = await one(pool, s, { recipient });
    const client = await pool.connect();
    try {
      await client.query('begin');
      const first = await one(client, s, { recipient });
      const later = one(pool, s, { recipient });
      await new Promise((resolve) => setTimeout(resolve, 50));
      await client.query('commit');
      expect(await fate(pool, oldest, first, await later)).toEqual([SUPERSEDED, SUPERSEDED, 'pending']);
    } finally {
      client.release();
    }
  });

  test('one that keeps its transaction open does not hold up the other for longer than a moment: then both go', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const recipient = someone();
    const client = await pool.connect();
    try {
      await client.query('begin');
      const first = await one(client, s, { recipient });
      const started = performance.now();
      const second = await one(pool, s, { recipient });
      expect(performance.now() - started).toBeLessThan(5_000);
      await client.query('commit');
      expect(await fate(pool, first, second)).toEqual(['pending', 'pending']);
      // The next one takes the place of both.
      const third = await one(pool, s, { recipient });
      expect(await fate(pool, first, second, third)).toEqual([SUPERSEDED, SUPERSEDED, 'pending']);
    } finally {
      client.release();
    }
  });

  test('crosswise, two calls in each of two transactions: no deadlock', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const [a, b] = [someone(), someone()];
    await codes(pool, s, { recipient: a }, { recipient: b });
    const clients = [await pool.connect(), await pool.connect()];
    try {
      for (const client of clients) await client.query('begin');
      const [left, right] = clients;
      if (left === undefined || right === undefined) throw new Error('two were expected');
      const [first, second] = await Promise.all([one(left, s, { recipient: a }), one(right, s, { recipient: b })]);
      const [third, fourth] = await Promise.all([one(left, s, { recipient: b }), one(right, s, { recipient: a })]);
      for (const client of clients) await client.query('commit');
      expect(new Set([first, second, third, fourth]).size).toBe(4);
      // Each saw none of the other; the claim cancels nothing that is not named, so they go.
      expect(await claim(pool, claimRequest(s, 'otp'))).toMatchObject({ cancelled: 0, rows: 4 });
    } finally {
      for (const client of clients) {
        await client.query('rollback');
        client.release();
      }
    }
  });

  test('a claim of the older one under way: what it claims is given back and cancelled', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const recipient = someone();
    const first = await one(pool, s, { recipient });
    const claimer = await pool.connect();
    try {
      const lent = {
        query: (query: string | { text: string; values: unknown[] }) =>
          typeof query === 'string'
            ? Promise.resolve({ rows: [], command: query.toUpperCase() })
            : claimer.query(query.text, query.values),
        on: () => lent,
        off: () => lent,
        release: () => undefined,
      };
      await claimer.query('begin');
      expect(await claim({ connect: async () => lent } as unknown as pg.Pool, claimRequest(s, 'otp'))).toMatchObject({
        rows: 1,
      });
      const newer = one(pool, s, { recipient });
      await new Promise((resolve) => setTimeout(resolve, 30));
      await claimer.query('commit');
      expect(await fate(pool, first, await newer)).toEqual([SUPERSEDED, 'pending']);
      expect(await markNext(pool, markRequest(s, 'otp'))).toEqual([]);
    } finally {
      await claimer.query('rollback');
      claimer.release();
    }
  });

  test('the older row is locked by somebody who does not let go: named in a fact, which the next claim reads', async ({
    database: { pool },
  }) => {
    const s = await scene(pool);
    const recipient = someone();
    const first = await one(pool, s, { recipient });
    const holder = await pool.connect();
    try {
      await holder.query('begin');
      await holder.query('select 1 from sendledger.outbound_message where id = $1 for update', [first]);
      const second = await one(pool, s, { recipient });
      await holder.query('rollback');
      expect(await fate(pool, first, second)).toEqual(['pending (fact)', 'pending']);
      expect(await claim(pool, claimRequest(s, 'otp'))).toMatchObject({ rows: 1, cancelled: 1 });
    } finally {
      holder.release();
    }
  });

  test('a mark of the older one under way is not waited for, and wins', async ({ database: { pool } }) => {
    const s = await scene(pool);
    const recipient = someone();
    const first = await one(pool, s, { recipient });
    await claim(pool, claimRequest(s, 'otp'));
    const marker = await pool.connect();
    try {
      await marker.query('begin');
      expect(await markNextIn(marker, markRequest(s, 'otp'))).toHaveLength(1);
      const newer = one(pool, s, { recipient });
      expect(await untilWaiting(pool, marker, newer)).toBe('over');
      await marker.query('commit');
      expect(await fate(pool, first, await newer)).toEqual(['claimed (fact)', 'pending']);
    } finally {
      await marker.query('rollback');
      marker.release();
    }
  });

  test('many log-ins of few people among claims and marks, in any order: no deadlock, and after the next one a single code of each is unsent', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ who: fc.integer({ min: 0, max: 2 }), calls: fc.integer({ min: 1, max: 3 }) }), {
          minLength: 4,
          maxLength: 12,
        }),
        async (logins) => {
          const people = [someone(), someone(), someone()];
          let running = true;
          const meanwhile = async (work: () => Promise<unknown>) => {
            while (running) await work();
          };
          const work = [
            Promise.all(
              logins.map(async ({ who, calls }) => {
                for (let i = 0; i < calls; i++) await one(pool, s, { recipient: people[who] ?? '' });
              }),
            ).finally(() => {
              running = false;
            }),
            meanwhile(() => claim(pool, claimRequest(s, 'otp', 2))),
            meanwhile(() => markNext(pool, markRequest(s, 'otp', 1))),
          ];
          const failed = (await Promise.allSettled(work)).filter((r) => r.status === 'rejected').map((r) => r.reason);
          expect(failed).toEqual([]);
          // Each waits for its turn for so long and no longer: on a busy machine two may pass by each other. The next log-in sees both.
          for (const recipient of people) await one(pool, s, { recipient });
          const left = await rowsOf<{ recipient: string; n: number }>(
            pool,
            `select m.recipient, count(*)::int as n
             from sendledger.outbound_message m left join sendledger.submission s on s.id = m.submission_id
             where m.recipient = any ($1) and (m.state in ('pending', 'retry') or (m.state = 'claimed' and s.state = 'open')) group by 1`,
            [people],
          );
          for (const row of left) expect(row).toMatchObject({ n: 1 });
          expect(
            await rowsOf(
              pool,
              `select m.state::text from sendledger.outbound_message m left join sendledger.submission s on s.id = m.submission_id
               where m.recipient = any ($1) and not (m.state in ('pending', 'cancelled') or m.state = 'claimed')`,
              [people],
            ),
          ).toEqual([]);
        },
      ),
      { numRuns: 12 },
    );
  });
});

test('a provider that was down (FC-52): of the codes asked for meanwhile only the last goes out', async ({
  database: { pool },
}) => {
  const s = await scene(pool);
  const people = Array.from({ length: 5 }, someone);
  const last: string[] = [];
  // Each tries again while nothing gets through: some wait, some were refused a connection, some are claimed.
  for (const recipient of people) {
    await one(pool, s, { recipient });
    const marked = await mark(pool, s);
    await durably(pool, (sql) =>
      applyOutcomes(
        sql,
        marked.map((m) => outcomeOf(m, 'not_sent')),
      ),
    );
    await one(pool, s, { recipient });
    await claim(pool, claimRequest(s, 'otp'));
    last.push(await one(pool, s, { recipient }));
  }
  const sent: string[] = [];
  for (;;) {
    const marked = await mark(pool, s);
    if (marked.length === 0) break;
    sent.push(...marked.flatMap((m) => m.rows.map((row) => row.id)));
  }
  expect(sent.toSorted()).toEqual(last.toSorted());
});
