import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { claim, durably, type MarkRequest, markNextIn, rowsOf } from '../../src/ledger/index.ts';
import { importSubmission } from '../schema/rows.ts';
import { claimedMessage, claimRequest, endLease, markRequest } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

interface Case {
  readonly pool: pg.Pool;
  readonly scene: Scene;
  readonly submission: { readonly id: string };
}

/** Guards and all, but for the columns that no writer may change: a test may play the clock. */
async function behindTheGuards(pool: pg.Pool, text: string, values: unknown[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(text, values);
    await client.query('commit');
  } finally {
    client.release();
  }
}

const route = (set: string) => (c: Case) =>
  c.pool.query(`update sendledger.route set ${set} where id = $1`, [c.scene.routeId]);
const epoch = (set: string) => (c: Case) => c.pool.query(`update sendledger.dataset_epoch set ${set}`);
const submission = (set: string) => (c: Case) =>
  behindTheGuards(c.pool, `update sendledger.submission set ${set} where id = $1`, [c.submission.id]);

/** Each condition alone, all others met. */
const REFUSED: Readonly<Record<string, (c: Case) => Promise<unknown>>> = {
  'the route is paused': route('paused_at = now()'),
  'the lane is paused': (c) =>
    c.pool.query(
      `update sendledger.lane set paused_at = now() where route_id = $1 and message_class = 'transactional'`,
      [c.scene.routeId],
    ),
  'the provider told the route to wait': route(`throttled_until = clock_timestamp() + interval '1 h'`),
  'the breaker is open': route(`breaker_state = 'open', breaker_opened_at = now(), probe_at = 'infinity'`),
  'the breaker is open and this is no probe, though one is due': route(
    `breaker_state = 'open', breaker_opened_at = now(), probe_at = now() - interval '1 s'`,
  ),
  'the breaker is open and the probe is not due': async (c) => {
    await route(`breaker_state = 'open', breaker_opened_at = now(), probe_at = now() + interval '1 h'`)(c);
    await submission('is_probe = true')(c);
  },
  'the route is on hold': route('hold = true'),
  'the dataset is on hold': epoch(`status = 'hold'`),
  'the dataset is being checked': epoch(`status = 'checking'`),
  'the submission is of an epoch that is over': epoch('epoch_no = epoch_no + 1'),
  'the environment is another': epoch(`environment = 'production'`),
  'the cluster is another': epoch(`system_identifier = '1'`),
  'the timeline is another': epoch(`timeline = 'FFFFFFFF'`),
  'the epoch is not there': (c) => c.pool.query('delete from sendledger.dataset_epoch'),
  'the lease is over': submission(`lease_until = now() - interval '1 ms'`),
  'not_after has passed': submission(`not_after = now() - interval '1 ms'`),
  // A place that is free before the failure is counted would let the next one out into the same dark.
  'a marked request holds its place until the sweep has seen that its lease is over': async (c) => {
    await route('max_in_flight_requests = 1')(c);
    await endLease(c.pool, await importSubmission(c.pool, 'marked', c.scene.routeId));
  },
  'as many requests are on the wire as may be': async (c) => {
    await route('max_in_flight_requests = 2, otp_reserve = 0')(c);
    for (let i = 0; i < 2; i++) await importSubmission(c.pool, 'marked', c.scene.routeId);
  },
  'as many rows are on the wire as may be': async (c) => {
    await route('max_batch = 1, max_in_flight_rows = 10')(c);
    await importSubmission(c.pool, 'marked', c.scene.routeId, { size: 10 });
  },
  'it is larger than the bound, and something is on the wire': async (c) => {
    await route('max_batch = 1, max_in_flight_rows = 1')(c);
    await submission('size = 5')(c);
    await importSubmission(c.pool, 'marked', c.scene.routeId);
  },
};

const PASSES: Readonly<Record<string, (c: Case) => Promise<unknown>>> = {
  'nothing is in the way': async () => undefined,
  'the breaker is open, this is the probe and it is due': async (c) => {
    await route(`breaker_state = 'open', breaker_opened_at = now(), probe_at = now() - interval '1 ms'`)(c);
    await submission('is_probe = true')(c);
  },
  'another lane of the route is paused': (c) =>
    c.pool.query(
      `update sendledger.lane set paused_at = now() where route_id = $1 and message_class <> 'transactional'`,
      [c.scene.routeId],
    ),
  'another route is paused': async (c) => {
    const other = await scene(c.pool);
    await c.pool.query('update sendledger.route set paused_at = now(), hold = true where id = $1', [other.routeId]);
  },
  'one request fewer than the bound is on the wire': async (c) => {
    await route('max_in_flight_requests = 2, otp_reserve = 0')(c);
    await importSubmission(c.pool, 'marked', c.scene.routeId);
  },
  'ambiguous requests hold no place': async (c) => {
    await route('max_in_flight_requests = 1')(c);
    await importSubmission(c.pool, 'ambiguous', c.scene.routeId, { size: 30_000 });
  },
  'requests of another route hold no place': async (c) => {
    await route('max_in_flight_requests = 1')(c);
    await importSubmission(c.pool, 'marked', (await scene(c.pool)).routeId);
  },
  'it is larger than the bound, and nothing is on the wire': async (c) => {
    await route('max_batch = 1, max_in_flight_rows = 1')(c);
    await submission('size = 5')(c);
  },
};

async function prepare(pool: pg.Pool): Promise<Case> {
  const s = await scene(pool);
  return { pool, scene: s, submission: (await claimedMessage(pool, s)).submission };
}

const mark = (c: Case, change: Partial<MarkRequest> = {}) =>
  durably(c.pool, (sql) => markNextIn(sql, { ...markRequest(c.scene), ...change }));

describe('no mark while', () => {
  for (const [what, spoil] of Object.entries(REFUSED))
    test(what, async ({ freshDatabase: { pool } }) => {
      const c = await prepare(pool);
      await spoil(c);
      expect(await mark(c)).toEqual([]);
      expect(
        await rowsOf(pool, 'select state, requested_at, lease_token from sendledger.submission where id = $1', [
          c.submission.id,
        ]),
      ).toEqual([{ state: 'open', requested_at: null, lease_token: null }]);
    });

  test('the worker names another environment', async ({ freshDatabase: { pool } }) => {
    expect(await mark(await prepare(pool), { environment: 'staging' })).toEqual([]);
  });

  test('the worker has no free connection', async ({ freshDatabase: { pool } }) => {
    expect(await mark(await prepare(pool), { limit: 0 })).toEqual([]);
  });
});

describe('a mark where', () => {
  for (const [what, arrange] of Object.entries(PASSES))
    test(what, async ({ freshDatabase: { pool } }) => {
      const c = await prepare(pool);
      await arrange(c);
      expect(await mark(c)).toMatchObject([{ id: c.submission.id }]);
    });
});

describe('what a mark takes', () => {
  test('no more than there is room for: requests', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await enqueue(
      pool,
      Array.from({ length: 5 }, () => ({ route: s.name })),
    );
    await claim(pool, claimRequest(s));
    await pool.query('update sendledger.route set otp_reserve = 0, max_in_flight_requests = 3 where id = $1', [
      s.routeId,
    ]);
    const c = { pool, scene: s, submission: { id: '' } };
    expect(await mark(c)).toHaveLength(3);
    expect(await mark(c)).toHaveLength(0);
  });

  test('no more than there is room for: rows, the oldest first and none overtaken', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool);
    for (const size of [2, 3, 1]) {
      await enqueue(
        pool,
        Array.from({ length: size }, (_, i) => ({ route: s.name, recipient: `91900000000${i}` })),
      );
      await claim(pool, claimRequest(s));
    }
    await pool.query('update sendledger.route set max_batch = 4, max_in_flight_rows = 4 where id = $1', [s.routeId]);
    const c = { pool, scene: s, submission: { id: '' } };
    // 2 fit; 2 + 3 do not, and the last one does not overtake.
    expect((await mark(c)).map((m) => m.size)).toEqual([2]);
    expect((await mark(c)).map((m) => m.size)).toEqual([]);
  });

  test('a fresh random token for each, its owner, and the rows as they were claimed', async ({
    freshDatabase: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await enqueue(pool, [
      { route: s.name, recipient: '919000000001' },
      { route: s.name, recipient: '919000000002' },
    ]);
    await claim(pool, claimRequest(s));
    const marks = await mark({ pool, scene: s, submission: { id: '' } });
    expect(marks.map((m) => m.rows.map((r) => r.recipient)).sort()).toEqual([['919000000001'], ['919000000002']]);
    expect(new Set(marks.map((m) => m.leaseToken)).size).toBe(2);
    const stored = await rowsOf<{ lease_token: string; marked_by: string }>(
      pool,
      'select lease_token, marked_by from sendledger.submission order by id',
    );
    expect(stored).toEqual(marks.map((m) => ({ lease_token: m.leaseToken, marked_by: s.worker.id })));
  });
});
