import { test } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  claim,
  deferProbe,
  durably,
  lanesWithOpenSubmissions,
  markNextIn,
  openBreakersOf,
  probeNow,
  rowsOf,
} from '../../src/ledger/index.ts';
import { claimRequest, marked, markRequest, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

const laneOf = async (pool: pg.Pool, s: Scene) =>
  (await lanesWithOpenSubmissions(pool, 'transactional')).find((lane) => lane.routeId === s.routeId);

const forcedOf = async (pool: pg.Pool, s: Scene) =>
  only(
    await rowsOf<{ forced: boolean; state: string }>(
      pool,
      'select probe_forced as forced, breaker_state as state from sendledger.route where id = $1',
      [s.routeId],
    ),
  );

/** A route whose breaker is open, with its probe claimed and due. */
async function withProbe(pool: pg.Pool): Promise<Scene> {
  const s = await scene(pool, { maxBatch: 1 });
  const [first] = await marked(pool, s);
  if (first === undefined) throw new Error('one was expected');
  const trip = { routeId: s.routeId, sign: 'trip' as const };
  await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(first, 'ambiguous', { breaker: trip })]));
  await enqueue(pool, [
    { route: s.name, recipient: '919000000001' },
    { route: s.name, recipient: '919000000002' },
  ]);
  await durably(pool, (sql) => probeNow(sql, s.routeId));
  await claim(pool, claimRequest(s));
  return s;
}

describe('a probe that a person forces', () => {
  test('is seen with its lane, is not put off, and its mark is the end of the force', async ({ database }) => {
    const { pool } = database;
    const s = await withProbe(pool);
    expect(await laneOf(pool, s)).toMatchObject({ breaker: 'probe', probes: 0, probeForced: false });
    const cli = new pg.Pool({ connectionString: database.urlFor('sendledger_cli'), max: 1 });
    expect(await durably(cli, (sql) => probeNow(sql, s.routeId, { force: true }))).toBe(true);
    // Asked for once more, without force: what was wanted is still wanted.
    await durably(cli, (sql) => probeNow(sql, s.routeId));
    await cli.end();
    expect(await laneOf(pool, s)).toMatchObject({ breaker: 'probe', probeForced: true });
    // A process that asked the free call before the force was there.
    const submit = new pg.Pool({ connectionString: database.urlFor('sendledger_submit'), max: 1 });
    expect(await durably(submit, (sql) => deferProbe(sql, s.routeId, 'the free call: no'))).toBe(false);
    expect(await durably(submit, (sql) => markNextIn(sql, markRequest(s)))).toHaveLength(1);
    await submit.end();
    expect(await forcedOf(pool, s)).toEqual({ forced: false, state: 'open' });
  });

  test('is about this outage: neither its end nor the next beginning keeps it', async ({ freshDatabase: { pool } }) => {
    const s = await withProbe(pool);
    const probe = only(await durably(pool, (sql) => markNextIn(sql, markRequest(s))));
    await durably(pool, (sql) => probeNow(sql, s.routeId, { force: true }));
    expect(await forcedOf(pool, s)).toEqual({ forced: true, state: 'open' });
    const alive = { routeId: s.routeId, sign: 'alive' as const };
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(probe, 'accepted', { breaker: alive })]));
    expect(await forcedOf(pool, s)).toEqual({ forced: false, state: 'closed' });
    await durably(pool, (sql) => openBreakersOf(sql, 'smsgatewaycenter', 'default', 'the balance is empty'));
    expect(await forcedOf(pool, s)).toEqual({ forced: false, state: 'open' });
  });

  test('a closed breaker takes no force', async ({ database: { pool } }) => {
    const s = await scene(pool);
    expect(await durably(pool, (sql) => probeNow(sql, s.routeId, { force: true }))).toBe(false);
    expect(await forcedOf(pool, s)).toEqual({ forced: false, state: 'closed' });
  });
});
