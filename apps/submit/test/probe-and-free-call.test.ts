import { claim, durably, openBreakersOf, probeNow, rowsOf } from '@sendledger/core/ledger';
import { type AccountAnswer, type Adapter, createSmsGatewayCenter } from '@sendledger/gateway';
import { createLog, createWakeUps, Registry, RouteLimiter } from '@sendledger/worker';
import type pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test } from '../../../infra/local/src/fixtures.ts';
import { enqueue, scene } from '../../../packages/core/test/ledger/scene.ts';
import { Submitter } from '../src/submit-lanes.ts';

const AWAY: AccountAnswer = { kind: 'unavailable', detail: 'error 991: words' };
const REFUSED: AccountAnswer = { kind: 'refused', code: '216', detail: 'Invalid credentials' };
const EMPTY: AccountAnswer = { kind: 'ok', balance: '0', empty: true };

/** A route whose breaker is open, and a process that would send its probes. */
async function prober(pool: pg.Pool, answer: AccountAnswer) {
  const s = await scene(pool, { maxBatch: 1 });
  await durably(pool, (sql) => openBreakersOf(sql, 'smsgatewaycenter', 'default', 'five in a row'));
  await enqueue(pool, [{ route: s.name }]);
  const said = { asked: 0, sent: 0 };
  const adapter: Adapter = {
    ...createSmsGatewayCenter({ baseUrl: 'http://127.0.0.1:1', userid: 'demo', password: 'demopassword' }),
    async account() {
      said.asked++;
      return answer;
    },
    async submit({ recipients: [recipient = ''] }) {
      said.sent++;
      const reply = { httpStatus: 200, raw: null, statusCode: '200', reason: 'success' };
      return { kind: 'accepted', providerTxnId: recipient, rejected: [], unaccounted: [], strangers: [], reply };
    },
  };
  const log = createLog('submit', 'silent', 'test');
  const submitter = new Submitter(
    { pool, sql: pool, log, wakeUps: createWakeUps(undefined, log), worker: s.worker, registry: new Registry() },
    () => adapter,
    {
      concurrency: 2,
      leaseMs: 60_000,
      sendBudgetMs: 5_000,
      environment: s.environment,
      firstReportMs: 500,
      retry: { baseMs: 1_000, longestMs: 60_000, tries: 3 },
      dice: () => 0.5,
    },
    new RouteLimiter(undefined, { report: async () => ({ processes: 1, onRedis: 0, place: 0 }) }, log),
  );
  const lane = { routeId: s.routeId, messageClass: 'transactional' as const, workerId: s.worker.id };
  const due = () => pool.query('update sendledger.route set probe_at = clock_timestamp()');
  return {
    said,
    force: () => durably(pool, (sql) => probeNow(sql, s.routeId, { force: true })),
    /** The next probe, if it may leave. */
    async next() {
      await pool.query(`update sendledger.outbound_message set due_at = now() where state = 'pending'`);
      await due();
      await claim(pool, { ...lane, limit: 1, leaseMs: 600_000 });
      await submitter.round('transactional');
      await submitter.drain();
      return said.sent;
    },
    breaker: async () =>
      (await rowsOf<{ state: string }>(pool, 'select breaker_state as state from sendledger.route'))[0]?.state,
  };
}

describe('the free call before a probe', () => {
  test('that says nothing puts off three; then one message is sent, and closes the breaker', async ({
    freshDatabase: { pool },
  }) => {
    const { said, next, breaker } = await prober(pool, AWAY);
    for (let i = 0; i < 3; i++) expect(await next()).toBe(0);
    expect(await breaker()).toBe('open');
    expect(await next()).toBe(1);
    expect(said.asked).toBe(4);
    expect(await breaker()).toBe('closed');
  });

  for (const [what, answer] of Object.entries({ 'is refused': REFUSED, 'finds the account empty': EMPTY }))
    test(`that ${what} puts off every one, until a person forces one`, async ({ freshDatabase: { pool } }) => {
      const { said, next, force, breaker } = await prober(pool, answer);
      for (let i = 0; i < 6; i++) expect(await next()).toBe(0);
      expect(said.asked).toBe(6);
      expect(await force()).toBe(true);
      expect(await next()).toBe(1);
      expect(said.asked).toBe(6);
      expect(await breaker()).toBe('closed');
    });
});
