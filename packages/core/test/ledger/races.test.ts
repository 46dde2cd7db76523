import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import {
  cancelMessage,
  cancelOnce,
  markNextIn,
  pauseLane,
  pauseRoute,
  recordCancellation,
  release,
  rowsOf,
  type Sql,
  sweepOpenLeases,
} from '../../src/ledger/index.ts';
import { claimedMessage, endLease, laneOf, markRequest } from './on-the-way.ts';
import { type EnqueuedRow, type Scene, scene } from './scene.ts';
import { untilWaiting } from './until-waiting.ts';

interface Case {
  readonly pool: pg.Pool;
  readonly scene: Scene;
  readonly message: EnqueuedRow;
  readonly submission: EnqueuedRow;
}

type End = 'commit' | 'rollback';

/** Two transactions at once: the second starts while the first is open, and ends after it. */
async function meet<A, B>(
  pool: pg.Pool,
  first: { does: (sql: Sql) => Promise<A>; ends: End },
  second: (sql: Sql) => Promise<B>,
): Promise<{ first: A; second: B; waited: boolean }> {
  const [a, b] = [await pool.connect(), await pool.connect()];
  try {
    await a.query('begin');
    await b.query('begin');
    const firstResult = await first.does(a);
    const running = second(b);
    running.catch(() => undefined);
    const seen = await untilWaiting(pool, b, running);
    await a.query(first.ends);
    const secondResult = await running;
    await b.query('commit');
    return { first: firstResult, second: secondResult, waited: seen === 'waits' };
  } finally {
    // A transaction that a failed expectation left open must not go back to the pool.
    await a.query('rollback');
    await b.query('rollback');
    a.release();
    b.release();
  }
}

const mark = (c: Case) => async (sql: Sql) => (await markNextIn(sql, markRequest(c.scene))).length === 1;

async function facts({ pool, message, submission }: Case) {
  const [row] = await rowsOf<{ message: string; submission: string; marked: boolean; requested: boolean }>(
    pool,
    `select m.state as message, s.state as submission, s.lease_token is not null as marked, s.requested_at is not null as requested
     from sendledger.outbound_message m, sendledger.submission s where m.id = $1 and s.id = $2`,
    [message.id, submission.id],
  );
  return row;
}

const MARKED = { message: 'claimed', submission: 'marked', marked: true, requested: true };
const RELEASED = { message: 'pending', submission: 'released', marked: false, requested: false };
const OPEN = { message: 'claimed', submission: 'open', marked: false, requested: false };

async function prepare(pool: pg.Pool): Promise<Case> {
  const s = await scene(pool);
  return { pool, scene: s, ...(await claimedMessage(pool, s)) };
}

describe('a mark and a release of the same submission', () => {
  const releasing = (c: Case) => async (sql: Sql) => (await release(sql, [c.submission])).submissions === 1;

  test('the mark first, and commits: the release waits and finds nothing', async ({ database: { pool } }) => {
    const c = await prepare(pool);
    expect(await meet(pool, { does: mark(c), ends: 'commit' }, releasing(c))).toEqual({
      first: true,
      second: false,
      waited: true,
    });
    expect(await facts(c)).toEqual(MARKED);
  });

  test('the mark first, and rolls back: the release waits and wins', async ({ database: { pool } }) => {
    const c = await prepare(pool);
    expect(await meet(pool, { does: mark(c), ends: 'rollback' }, releasing(c))).toEqual({
      first: true,
      second: true,
      waited: true,
    });
    expect(await facts(c)).toEqual(RELEASED);
  });

  test('the release first, and commits: the mark passes it by', async ({ database: { pool } }) => {
    const c = await prepare(pool);
    expect(await meet(pool, { does: releasing(c), ends: 'commit' }, mark(c))).toMatchObject({
      first: true,
      second: false,
    });
    expect(await facts(c)).toEqual(RELEASED);
  });

  test('the release first, and rolls back: the mark passes it by, and the next mark wins', async ({
    database: { pool },
  }) => {
    const c = await prepare(pool);
    expect(await meet(pool, { does: releasing(c), ends: 'rollback' }, mark(c))).toMatchObject({
      first: true,
      second: false,
    });
    expect(await facts(c)).toEqual(OPEN);
    expect(await mark(c)(pool)).toBe(true);
    expect(await facts(c)).toEqual(MARKED);
  });

  test('two marks at once: the second waits for the route, and one owns the submission', async ({
    database: { pool },
  }) => {
    const c = await prepare(pool);
    expect(await meet(pool, { does: mark(c), ends: 'commit' }, mark(c))).toEqual({
      first: true,
      second: false,
      waited: true,
    });
    expect(await facts(c)).toEqual(MARKED);
  });
});

describe('a mark and the sweep of leases that ran out', () => {
  const sweeping = async (sql: Sql) => (await sweepOpenLeases(sql, 1000)).submissions === 1;

  test('the mark first: the sweep passes the row by, whatever becomes of the mark', async ({ database: { pool } }) => {
    for (const ends of ['commit', 'rollback'] as const) {
      const c = await prepare(pool);
      // The sweep takes the row by its lease; the mark took it a moment before it ran out.
      const [a, b] = [await pool.connect(), await pool.connect()];
      try {
        await a.query('begin');
        expect(await mark(c)(a)).toBe(true);
        await b.query('begin');
        expect((await sweepOpenLeases(b, 1000)).submissions).toBe(0);
        await a.query(ends);
        await b.query('commit');
      } finally {
        a.release();
        b.release();
      }
      expect(await facts(c)).toEqual(ends === 'commit' ? MARKED : OPEN);
    }
  });

  test('a lease that ran out is not marked, and the sweep gives the row back', async ({ database: { pool } }) => {
    const c = await prepare(pool);
    await endLease(pool, c.submission);
    expect(await mark(c)(pool)).toBe(false);
    expect(await sweeping(pool)).toBe(true);
    expect(await facts(c)).toEqual(RELEASED);
  });

  test('the sweep first: the mark does not take what is being released', async ({ database: { pool } }) => {
    for (const ends of ['commit', 'rollback'] as const) {
      const c = await prepare(pool);
      await endLease(pool, c.submission);
      expect(await meet(pool, { does: sweeping, ends }, mark(c))).toMatchObject({ first: true, second: false });
      expect(await facts(c)).toEqual(ends === 'commit' ? RELEASED : OPEN);
      await sweeping(pool);
    }
  });
});

describe('a mark and a cancellation', () => {
  const request = (c: Case) => ({
    tenantId: 'shop',
    message: c.message,
    requestedBy: 'test',
    reason: 'changed my mind',
  });
  /** One round of cancelMessage, its fact written in the same transaction. */
  const cancelling = (c: Case) => async (sql: Sql) => {
    await recordCancellation(sql, request(c));
    return cancelOnce(sql, c.message);
  };

  test('the mark first, and commits: the cancellation waits and is too late', async ({ database: { pool } }) => {
    const c = await prepare(pool);
    const met = await meet(pool, { does: mark(c), ends: 'commit' }, cancelling(c));
    expect(met).toEqual({ first: true, second: 'again', waited: true });
    expect(await cancelMessage(pool, request(c))).toBe('too_late');
    expect(await facts(c)).toEqual(MARKED);
  });

  test('the mark first, and rolls back: the cancellation waits and wins', async ({ database: { pool } }) => {
    const c = await prepare(pool);
    const met = await meet(pool, { does: mark(c), ends: 'rollback' }, cancelling(c));
    expect(met).toEqual({ first: true, second: 'again', waited: true });
    expect(await cancelMessage(pool, request(c))).toBe('cancelled');
    expect(await facts(c)).toEqual({ ...RELEASED, message: 'cancelled' });
    expect(await mark(c)(pool)).toBe(false);
  });

  test('the cancellation first, and commits: nothing is marked, then or later', async ({ database: { pool } }) => {
    const c = await prepare(pool);
    const met = await meet(pool, { does: cancelling(c), ends: 'commit' }, mark(c));
    expect(met).toMatchObject({ first: 'again', second: false });
    expect(await cancelMessage(pool, request(c))).toBe('cancelled');
    expect(await mark(c)(pool)).toBe(false);
    expect(await facts(c)).toEqual({ ...RELEASED, message: 'cancelled' });
  });

  test('the cancellation first, and rolls back: the next mark wins', async ({ database: { pool } }) => {
    const c = await prepare(pool);
    const met = await meet(pool, { does: cancelling(c), ends: 'rollback' }, mark(c));
    expect(met).toMatchObject({ first: 'again', second: false });
    expect(await facts(c)).toEqual(OPEN);
    expect(await mark(c)(pool)).toBe(true);
    expect(await cancelMessage(pool, request(c))).toBe('too_late');
  });

  test('asked while a mark is open, it answers only after the mark is decided', async ({ database: { pool } }) => {
    for (const ends of ['commit', 'rollback'] as const) {
      const c = await prepare(pool);
      const client = await pool.connect();
      try {
        await client.query('begin');
        expect(await mark(c)(client)).toBe(true);
        let answered = false;
        const answer = cancelMessage(pool, request(c)).finally(() => {
          answered = true;
        });
        await untilSomebodyWaitsFor(pool, client);
        expect(answered).toBe(false);
        await client.query(ends);
        expect(await answer).toBe(ends === 'commit' ? 'too_late' : 'cancelled');
      } finally {
        client.release();
      }
    }
  });
});

describe('a mark and what an operator writes', () => {
  const writers: Readonly<Record<string, (c: Case) => (sql: Sql) => Promise<unknown>>> = {
    'a pause of the route': (c) => (sql) => pauseRoute(sql, c.scene.routeId, 'test'),
    'a pause of the route by raw SQL': (c) => (sql) =>
      sql.query('update sendledger.route set paused_at = now() where id = $1', [c.scene.routeId]),
    'a pause of the lane': (c) => (sql) => pauseLane(sql, laneOf(c.scene), 'test'),
    'a breaker that opens': (c) => (sql) =>
      sql.query(
        `update sendledger.route set breaker_state = 'open', breaker_opened_at = now(), probe_at = 'infinity' where id = $1`,
        [c.scene.routeId],
      ),
    'a hold of the route': (c) => (sql) =>
      sql.query('update sendledger.route set hold = true where id = $1', [c.scene.routeId]),
    'a hold of the dataset': () => async (sql) => {
      await sql.query('update sendledger.route set updated_at = now()');
      await sql.query(`update sendledger.dataset_epoch set status = 'hold'`);
    },
    'a new epoch': () => async (sql) => {
      await sql.query('update sendledger.route set updated_at = now()');
      await sql.query(`update sendledger.dataset_epoch set epoch_no = epoch_no + 1`);
    },
  };

  for (const [what, writer] of Object.entries(writers)) {
    test(`${what}, first, and commits: the mark waits for it and obeys`, async ({ freshDatabase: { pool } }) => {
      const c = await prepare(pool);
      const met = await meet(pool, { does: writer(c), ends: 'commit' }, mark(c));
      expect(met).toMatchObject({ second: false, waited: true });
      expect(await facts(c)).toEqual(OPEN);
    });

    test(`${what}, first, and rolls back: the mark waits for it and goes on`, async ({ freshDatabase: { pool } }) => {
      const c = await prepare(pool);
      const met = await meet(pool, { does: writer(c), ends: 'rollback' }, mark(c));
      expect(met).toMatchObject({ second: true, waited: true });
      expect(await facts(c)).toEqual(MARKED);
    });

    test(`${what} waits for a mark under way, and the next mark obeys`, async ({ freshDatabase: { pool } }) => {
      for (const ends of ['commit', 'rollback'] as const) {
        const c = await prepare(pool);
        const met = await meet(pool, { does: mark(c), ends }, writer(c));
        expect(met).toMatchObject({ first: true, waited: true });
        expect(await facts(c)).toEqual(ends === 'commit' ? MARKED : OPEN);
        expect(await mark(c)(pool)).toBe(false);
        await pool.query(`update sendledger.dataset_epoch set status = 'ok', epoch_no = 1`);
      }
    });
  }
});

/** Until some session waits for a lock of `client`. */
async function untilSomebodyWaitsFor(watch: pg.Pool, client: pg.PoolClient): Promise<void> {
  const { processID } = client as pg.PoolClient & { processID: number };
  for (;;) {
    const [row] = await rowsOf<{ waits: boolean }>(
      watch,
      'select exists (select from pg_stat_activity a where $1 = any (pg_blocking_pids(a.pid))) as waits',
      [processID],
    );
    if (row?.waits === true) return;
  }
}
