import { test } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import type { BreakerSign } from '../../src/domain/breaker.ts';
import {
  applyOutcomes,
  claim,
  deferProbe,
  durably,
  lanesWithOpenSubmissions,
  lanesWithWork,
  type MarkedSubmission,
  markNextIn,
  openBreakersOf,
  probeNow,
  rowsOf,
  sweepMarkedLeases,
  sweepOpenLeases,
} from '../../src/ledger/index.ts';
import { claimRequest, endLease, marked, markRequest, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene, stateOf } from './scene.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, i) => ({ recipient: `9190${10_000_000 + i}` }));

async function breaker(pool: pg.Pool, s: Scene) {
  const [row] = await rowsOf<{
    state: string;
    failures: number;
    reason: string | null;
    probes: number;
    due: boolean | null;
    pause: number | null;
  }>(
    pool,
    `select breaker_state as state, breaker_failures as failures, breaker_reason as reason, probes,
       probe_at <= clock_timestamp() as due, round(extract(epoch from probe_at - now()))::integer as pause
     from sendledger.route where id = $1`,
    [s.routeId],
  );
  if (row === undefined) throw new Error('no route');
  return row;
}

const signed = (
  s: Scene,
  m: MarkedSubmission,
  state: 'accepted' | 'refused' | 'not_sent' | 'ambiguous',
  sign: BreakerSign,
  to?: 'retry',
) => outcomeOf(m, state, { breaker: { routeId: s.routeId, sign }, ...(to ? { to } : {}) });

const apply = (pool: pg.Pool, ...outcomes: Parameters<typeof applyOutcomes>[1]) =>
  durably(pool, (sql) => applyOutcomes(sql, outcomes));

/** A route whose breaker is open, with messages waiting. */
async function opened(pool: pg.Pool, waiting = 3): Promise<Scene> {
  const s = await scene(pool, { maxBatch: 1 });
  const first = await marked(pool, s, numbers(5));
  await apply(pool, ...first.map((m) => signed(s, m, 'ambiguous', 'failure')));
  await enqueue(
    pool,
    numbers(waiting).map((m) => ({ ...m, route: s.name })),
  );
  return s;
}
const probeDue = (pool: pg.Pool, s: Scene) => durably(pool, (sql) => probeNow(sql, s.routeId));

describe('the breaker opens in the transaction that writes the outcome', () => {
  test('with the fifth ambiguous or unsent request in a row; one that was answered starts anew', async ({
    database: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const all = await marked(pool, s, numbers(10));
    const [a, b, c, d, e, ...rest] = all;
    if (!a || !b || !c || !d || !e) throw new Error('ten were expected');
    await apply(pool, signed(s, a, 'ambiguous', 'failure'), signed(s, b, 'not_sent', 'failure'));
    await apply(pool, signed(s, c, 'not_sent', 'failure'), signed(s, d, 'ambiguous', 'failure'));
    expect(await breaker(pool, s)).toMatchObject({ state: 'closed', failures: 4 });
    await apply(pool, signed(s, e, 'accepted', 'alive'));
    expect(await breaker(pool, s)).toMatchObject({ state: 'closed', failures: 0 });
    const answer = await apply(pool, ...rest.map((m) => signed(s, m, 'ambiguous', 'failure')));
    expect(answer.breakers).toEqual([{ routeId: s.routeId, became: 'open', reason: 'ambiguous: ambiguous' }]);
    expect(await breaker(pool, s)).toMatchObject({ state: 'open', failures: 5, pause: 5, due: false });
  });

  test('with one word about the account', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const m = only(await marked(pool, s));
    await apply(pool, signed(s, m, 'refused', 'trip', 'retry'));
    expect(await breaker(pool, s)).toMatchObject({ state: 'open', reason: 'refused: refused' });
    expect(await stateOf(pool, only(m.rows).id)).toBe('retry');
  });

  test('what says nothing about the route leaves its row alone, and so does a success on a healthy one', async ({
    database: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const [a, b] = await marked(pool, s, numbers(2));
    if (!a || !b) throw new Error('two were expected');
    const version = async () =>
      (await rowsOf<{ x: string }>(pool, 'select xmin::text as x from sendledger.route where id = $1', [s.routeId]))[0]
        ?.x;
    const before = await version();
    await apply(pool, outcomeOf(a, 'not_sent'), signed(s, b, 'accepted', 'alive'));
    expect(await version()).toBe(before);
  });

  test('the same outcome twice counts once, and one of another lease not at all', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const m = only(await marked(pool, s));
    const outcome = signed(s, m, 'ambiguous', 'failure');
    await apply(pool, { ...outcome, leaseToken: '00000000-0000-4000-8000-000000000000' });
    expect(await breaker(pool, s)).toMatchObject({ failures: 0 });
    for (let i = 0; i < 3; i++) await apply(pool, outcome);
    expect(await breaker(pool, s)).toMatchObject({ failures: 1 });
  });

  test('requests whose worker vanished count too', async ({ freshDatabase: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    for (const m of await marked(pool, s, numbers(5))) await endLease(pool, m);
    const lost = await durably(pool, (sql) => sweepMarkedLeases(sql, 100));
    expect(lost.breakers).toEqual([{ routeId: s.routeId, became: 'open', reason: 'ambiguous: lease_expired' }]);
  });

  test('thirty-two at once from two processes: counted one after the other, none lost', async ({
    database: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await pool.query('update sendledger.route set breaker_threshold = 1000, otp_reserve = 0 where id = $1', [
      s.routeId,
    ]);
    const all = await marked(pool, s, numbers(32));
    await Promise.all(all.map((m) => apply(pool, signed(s, m, 'ambiguous', 'failure'))));
    expect(await breaker(pool, s)).toMatchObject({ state: 'closed', failures: 32 });
  });
});

describe('while it is open', () => {
  test('rows stay pending, and what was claimed comes back', async ({ freshDatabase: { pool } }) => {
    const s = await opened(pool, 3);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0 });
    expect((await lanesWithWork(pool, 'transactional')).map((lane) => lane.routeId)).not.toContain(s.routeId);
    // Claimed before it opened.
    const other = await scene(pool, { maxBatch: 1 });
    const [waiting] = await enqueue(pool, [{ route: other.name }]);
    await claim(pool, claimRequest(other));
    await durably(pool, (sql) => openBreakersOf(sql, 'smsgatewaycenter', 'default', 'the balance is empty'));
    expect(await durably(pool, (sql) => markNextIn(sql, markRequest(other)))).toEqual([]);
    await durably(pool, (sql) => sweepOpenLeases(sql, 100));
    expect(await stateOf(pool, waiting?.id ?? '')).toBe('pending');
  });

  test('a due probe is one message, and its mark takes the slot', async ({ database: { pool } }) => {
    const s = await opened(pool);
    await probeDue(pool, s);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1, probe: true, more: false });
    // A second claimer finds the probe there.
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 0 });
    const lane = (await lanesWithOpenSubmissions(pool, 'transactional')).find((l) => l.routeId === s.routeId);
    expect(lane?.breaker).toBe('probe');
    const probe = only(await durably(pool, (sql) => markNextIn(sql, markRequest(s))));
    expect(probe.isProbe).toBe(true);
    expect(await breaker(pool, s)).toMatchObject({ state: 'open', probes: 1, due: false, pause: 10 });
  });

  test('eight workers that find the probe at once: one sends it', async ({ database: { pool } }) => {
    const s = await opened(pool);
    await probeDue(pool, s);
    await claim(pool, claimRequest(s));
    const marks = await Promise.all(
      Array.from({ length: 8 }, () => durably(pool, (sql) => markNextIn(sql, markRequest(s)))),
    );
    expect(marks.flat()).toHaveLength(1);
  });

  test('the pause doubles with each probe, up to the longest', async ({ database: { pool } }) => {
    const s = await opened(pool);
    await pool.query('update sendledger.route set probe_longest_ms = 60000 where id = $1', [s.routeId]);
    const pauses: (number | null)[] = [];
    for (let i = 0; i < 5; i++) {
      await pool.query('update sendledger.route set probe_at = clock_timestamp() where id = $1', [s.routeId]);
      expect(await durably(pool, (sql) => deferProbe(sql, s.routeId, 'the free call: no connection'))).toBe(true);
      pauses.push((await breaker(pool, s)).pause);
    }
    expect(pauses).toEqual([10, 20, 40, 60, 60]);
    // Not due: nobody moves it.
    expect(await durably(pool, (sql) => deferProbe(sql, s.routeId, 'again'))).toBe(false);
    expect(await breaker(pool, s)).toMatchObject({ reason: 'the free call: no connection' });
  });

  test('a probe that fails leaves it open; one that is answered closes it, and everything goes on', async ({
    database: { pool },
  }) => {
    const s = await opened(pool, 4);
    await probeDue(pool, s);
    await claim(pool, claimRequest(s));
    const failing = only(await durably(pool, (sql) => markNextIn(sql, markRequest(s))));
    await apply(pool, signed(s, failing, 'ambiguous', 'failure'));
    expect(await breaker(pool, s)).toMatchObject({ state: 'open', failures: 6, probes: 1 });
    await probeDue(pool, s);
    await claim(pool, claimRequest(s));
    const probe = only(await durably(pool, (sql) => markNextIn(sql, markRequest(s))));
    expect((await apply(pool, signed(s, probe, 'accepted', 'alive'))).breakers).toEqual([
      { routeId: s.routeId, became: 'closed', reason: null },
    ]);
    expect(await breaker(pool, s)).toMatchObject({ state: 'closed', failures: 0, probes: 0, due: null });
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 2, probe: false });
  });

  test('a prober that dies after its mark costs one interval', async ({ freshDatabase: { pool } }) => {
    const s = await opened(pool);
    await probeDue(pool, s);
    await claim(pool, claimRequest(s));
    const probe = only(await durably(pool, (sql) => markNextIn(sql, markRequest(s))));
    await endLease(pool, probe);
    await durably(pool, (sql) => sweepMarkedLeases(sql, 10));
    await probeDue(pool, s);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1, probe: true });
  });

  test('a success that was on the wire when it opened does not close it', async ({ database: { pool } }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const [early, ...rest] = await marked(pool, s, numbers(6));
    if (!early) throw new Error('six were expected');
    await apply(pool, ...rest.map((m) => signed(s, m, 'ambiguous', 'failure')));
    await apply(pool, signed(s, early, 'accepted', 'alive'));
    expect(await breaker(pool, s)).toMatchObject({ state: 'open' });
    expect(await stateOf(pool, only(early.rows).id)).toBe('submitted');
  });

  test('a probe is found behind rows that have no price', async ({ database: { pool } }) => {
    const s = await opened(pool, 0);
    await enqueue(
      pool,
      numbers(20).map((m) => ({ ...m, route: s.name })),
    );
    await pool.query(
      `update sendledger.outbound_message set country = 'ZZ' where route_id = $1 and state = 'pending' and recipient < '919010000015'`,
      [s.routeId],
    );
    await pool.query(`update sendledger.rate_card set price_key = 'transactional:IN' where route_id = $1`, [s.routeId]);
    await probeDue(pool, s);
    expect(await claim(pool, claimRequest(s))).toMatchObject({ rows: 1, submissions: 1, unpriced: 15, probe: true });
  });

  test('stragglers of the outage, counted after the probe closed it, do not open it again', async ({
    database: { pool },
  }) => {
    const s = await scene(pool, { maxBatch: 1 });
    const all = await marked(pool, s, numbers(12));
    await apply(pool, ...all.slice(0, 5).map((m) => signed(s, m, 'ambiguous', 'failure')));
    await enqueue(pool, [{ route: s.name }]);
    await probeDue(pool, s);
    await claim(pool, claimRequest(s));
    const probe = only(await durably(pool, (sql) => markNextIn(sql, markRequest(s))));
    await apply(pool, signed(s, probe, 'accepted', 'alive'));
    await apply(pool, ...all.slice(5).map((m) => signed(s, m, 'ambiguous', 'failure')));
    expect(await breaker(pool, s)).toMatchObject({ state: 'closed', failures: 0 });
  });
});

test('requests whose workers died hold their places until they are counted: never more than the bound and the threshold', async ({
  freshDatabase: { pool },
}) => {
  const s = await scene(pool, { maxBatch: 1 });
  await pool.query('update sendledger.route set max_in_flight_requests = 8, otp_reserve = 0 where id = $1', [
    s.routeId,
  ]);
  await enqueue(
    pool,
    numbers(60).map((m) => ({ ...m, route: s.name })),
  );
  await claim(pool, claimRequest(s));
  let sent = 0;
  for (let round = 0; round < 6; round++) {
    const marks = await durably(pool, (sql) => markNextIn(sql, markRequest(s)));
    sent += marks.length;
    // Each worker dies at once, and the sweep comes late.
    for (const m of marks) await endLease(pool, m);
    if (round % 2 === 1) await durably(pool, (sql) => sweepMarkedLeases(sql, 100));
  }
  expect(sent).toBe(8);
  expect(await breaker(pool, s)).toMatchObject({ state: 'open' });
});
