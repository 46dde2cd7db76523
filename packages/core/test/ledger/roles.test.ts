import { test as base } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import {
  applyOutcomes,
  applyReceipts,
  cancelMessage,
  claim,
  classGauges,
  durably,
  endPolls,
  endWorker,
  ensureMonths,
  expireUnconfirmed,
  expireUnsubmitted,
  ledgerSummary,
  markNext,
  pauseLane,
  pauseRoute,
  recordReceipts,
  registerWorker,
  releaseClaimedBy,
  resumeLane,
  resumeRoute,
  rowsOf,
  strayRows,
  sweepMarkedLeases,
  sweepOpenLeases,
  takeDuePolls,
  whyNotSending,
} from '../../src/ledger/index.ts';
import { claimRequest, endLease, laneOf, marked, markRequest, only, outcomeOf, submissionOf } from './on-the-way.ts';
import { enqueue, scene } from './scene.ts';

type Role = 'producer' | 'claim' | 'submit' | 'reconcile' | 'cli' | 'ops';

/** A pool in which every session is the role: what is granted is all it has. */
const test = base.extend<'as', (role: Role) => pg.Pool>(
  'as',
  { scope: 'file' },
  async ({ database }, { onCleanup }) => {
    const pools = new Map<Role, pg.Pool>();
    onCleanup(async () => {
      await Promise.all([...pools.values()].map((pool) => pool.end()));
    });
    return (role: Role) => {
      const pool = pools.get(role) ?? new pg.Pool({ connectionString: database.urlFor(`sendledger_${role}`), max: 2 });
      pools.set(role, pool);
      return pool;
    };
  },
);

describe('each role can do its own part, with what it is granted', () => {
  test('the producer enqueues', async ({ database: { pool }, as }) => {
    const s = await scene(pool);
    expect(await enqueue(as('producer'), [{ route: s.name }])).toHaveLength(1);
  });

  test('claim: registers, claims, cancels what is covered, reviews what has no price, gives back', async ({
    database: { pool },
    as,
  }) => {
    const s = await scene(pool);
    const unpriced = await scene(pool, { rate: false });
    await enqueue(pool, [{ route: s.name }, { route: unpriced.name }]);
    const worker = await registerWorker(as('claim'), 'claim', 'claim-1');
    expect(await claim(as('claim'), { ...claimRequest(s), workerId: worker.id })).toMatchObject({ rows: 1 });
    expect(await claim(as('claim'), claimRequest(unpriced))).toMatchObject({ unpriced: 1 });
    expect(await durably(as('claim'), (sql) => releaseClaimedBy(sql, worker.id, 10))).toMatchObject({ rows: 1 });
    await endWorker(as('claim'), worker.id);
    expect(await whyNotSending(as('claim'), laneOf(s), s.environment)).toEqual([]);
  });

  test('submit: marks and writes outcomes, in time and late', async ({ database: { pool }, as }) => {
    const s = await scene(pool, { maxBatch: 1 });
    await enqueue(pool, [{ route: s.name }, { route: s.name }]);
    await claim(pool, claimRequest(s));
    const [first, second] = await markNext(as('submit'), markRequest(s));
    if (first === undefined || second === undefined) throw new Error('two were expected');
    expect(await durably(as('submit'), (sql) => applyOutcomes(sql, [outcomeOf(first, 'accepted')]))).toMatchObject({
      rows: 1,
    });
    expect(await durably(as('submit'), (sql) => applyOutcomes(sql, [outcomeOf(second, 'ambiguous')]))).toMatchObject({
      rows: 1,
    });
    expect(await durably(as('submit'), (sql) => applyOutcomes(sql, [outcomeOf(second, 'accepted')]))).toMatchObject({
      late: 1,
    });
  });

  test('reconcile: sweeps, expires, polls, applies receipts, makes months, measures', async ({
    database: { pool },
    as,
  }) => {
    const s = await scene(pool);
    const reconcile = as('reconcile');
    const [waiting] = await enqueue(pool, [{ route: s.name, recipient: '919000000009' }]);
    await claim(pool, claimRequest(s));
    await endLease(pool, await submissionOf(pool, waiting ?? { id: '', createdAt: new Date() }));
    expect(await durably(reconcile, (sql) => sweepOpenLeases(sql, 10))).toMatchObject({ rows: 1 });
    await pool.query(`update sendledger.outbound_message set submit_by = now() where id = $1`, [waiting?.id]);
    expect(await durably(reconcile, (sql) => expireUnsubmitted(sql, 10))).toBe(1);

    const lost = only(await marked(pool, s));
    await endLease(pool, lost);
    expect(await durably(reconcile, (sql) => sweepMarkedLeases(sql, 10))).toMatchObject({ rows: 1 });

    const sent = only(await marked(pool, s, [{ recipient: '919000000001' }]));
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(sent, 'accepted', { pollInMs: 0 })]));
    const due = await durably(reconcile, (sql) =>
      takeDuePolls(sql, { limit: 10, firstMs: 1, longestMs: 1, accounts: ['smsgatewaycenter/default'] }),
    );
    // The lost request is looked after as well as the accepted one.
    expect(due.map((poll) => poll.id).toSorted()).toEqual([lost.id, sent.id].toSorted());
    const origin = { routeId: s.routeId, provider: 'smsgatewaycenter', account: 'default', source: 'poll' as const };
    const receipt = (status: 'delivered' | 'failed') => ({
      providerTxnId: `txn-${sent.id}`,
      providerMessageId: `pm-${sent.id}`,
      recipient: '919000000001',
      senderId: null,
      statusWord: status,
      status,
      cause: null,
      causeClass: null,
      submittedAt: null,
      deliveredAt: null,
      evidence: {},
    });
    await durably(reconcile, async (sql) => {
      const { hashes } = await recordReceipts(sql, origin, [receipt('delivered'), receipt('failed')]);
      expect(await applyReceipts(sql, origin, hashes)).toMatchObject({ delivered: 1, conflicts: 1 });
      await expireUnconfirmed(sql, [sent.id]);
      await endPolls(sql, due);
    });
    await ensureMonths(reconcile, 5);
    expect(await strayRows(reconcile)).toBe(0);
    expect(await classGauges(reconcile)).toHaveLength(3);
  });

  test('the command line: pauses, resumes, cancels, sums up', async ({ database: { pool }, as }) => {
    const s = await scene(pool);
    const cli = as('cli');
    expect(await durably(cli, (sql) => pauseRoute(sql, s.routeId, 'test'))).toBe(true);
    expect(await durably(cli, (sql) => pauseLane(sql, laneOf(s), 'test'))).toBe(true);
    expect(await whyNotSending(cli, laneOf(s), s.environment)).toEqual([
      `route ${s.name} is paused: test`,
      `lane ${s.name}/transactional is paused: test`,
    ]);
    expect(await durably(cli, (sql) => resumeLane(sql, laneOf(s)))).toBe(true);
    expect(await durably(cli, (sql) => resumeRoute(sql, s.routeId))).toBe(true);
    expect(await whyNotSending(cli, laneOf(s), s.environment)).toEqual([]);
    expect(await durably(cli, (sql) => pauseRoute(sql, '0', 'test'))).toBe(false);
    expect(await durably(cli, (sql) => pauseLane(sql, { ...laneOf(s), routeId: '0' }, 'test'))).toBe(false);

    for (const role of ['cli', 'ops'] as const) {
      const [first, second] = await enqueue(pool, [{ route: s.name }, { route: s.name, recipient: '919000000001' }]);
      if (first === undefined || second === undefined) throw new Error('two were expected');
      await claim(pool, claimRequest(s));
      for (const message of [first, second])
        expect(await cancelMessage(as(role), { tenantId: 'shop', message, requestedBy: 'test', reason: 'test' })).toBe(
          'cancelled',
        );
      expect((await ledgerSummary(as(role), new Date(0))).states.cancelled).toBeGreaterThan(1);
    }
  });
});

describe('and no more than that', () => {
  test('none of them may become the import role or the owner', async ({ database: { pool } }) => {
    expect(
      await rowsOf(
        pool,
        `select a.rolname, b.rolname as becomes from pg_roles a, pg_roles b
         where a.rolname like 'sendledger\\_%' and b.rolname in ('sendledger_import', 'sendledger_owner') and a.oid <> b.oid
           and pg_has_role(a.oid, b.oid, 'member') and a.rolname not like 'sendledger\\_test\\_%'`,
      ),
    ).toEqual([]);
  });

  const forbidden: readonly [Role, string][] = [
    ['producer', 'select body from sendledger.outbound_message'],
    ['producer', `insert into sendledger.outbound_message (tenant_id) values ('x')`],
    ['producer', 'select * from sendledger.message_key'],
    ['claim', 'update sendledger.outbound_message set cost = 1'],
    ['claim', `update sendledger.submission set lease_token = gen_random_uuid()`],
    ['claim', 'delete from sendledger.outbound_message'],
    ['submit', 'update sendledger.outbound_message set body = $$x$$'],
    ['submit', 'update sendledger.route set paused_at = null'],
    ['submit', 'update sendledger.dataset_epoch set status = $$ok$$'],
    ['submit', `insert into sendledger.submission (route_id) values (1)`],
    ['reconcile', 'delete from sendledger.delivery_receipt'],
    ['reconcile', 'update sendledger.dataset_epoch set epoch_no = 2'],
    ['reconcile', 'truncate sendledger.outbound_message'],
    ['ops', 'update sendledger.outbound_message set body = $$x$$'],
    ['ops', 'update sendledger.charge_adjustment set amount = 1'],
    ['cli', 'delete from sendledger.audit_log'],
    ['cli', 'update sendledger.cancellation set reason = $$x$$'],
    ['cli', `select sendledger.redact_final(now(), 1)`],
    ['reconcile', 'set session_replication_role = replica'],
    ['reconcile', 'alter table sendledger.outbound_message disable trigger all'],
  ];
  for (const [role, text] of forbidden)
    test(`${role} cannot: ${text}`, async ({ as }) => {
      // 42501: insufficient_privilege, and not a guard that would have refused it anyway.
      await expect(as(role).query(text)).rejects.toMatchObject({ code: '42501' });
    });
});
