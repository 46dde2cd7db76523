import { test as base } from '@sendledger/local/fixtures';
import type pg from 'pg';
import { describe, expect } from 'vitest';
import { sharesOf, tenantsWaiting } from '../../src/ledger/fair-turns.ts';
import {
  applyOutcomes,
  applyReceipts,
  type CancelTarget,
  cancelCovered,
  cancelOnce,
  claim,
  classGauges,
  endPolls,
  expireUnconfirmed,
  expireUnsubmitted,
  followZoneRules,
  knownAccepted,
  lanesWithOpenSubmissions,
  lanesWithWork,
  markNextIn,
  noteCorrelation,
  type OwnTransaction,
  ownedIds,
  PICK_DUE,
  PICK_FAIR,
  previewCancellation,
  type RowRef,
  recordReceipts,
  release,
  releaseClaimedBy,
  requestedMessages,
  rowsOf,
  type SubmissionOutcome,
  settleAsNotSent,
  settleAsSent,
  strayRows,
  sweepMarkedLeases,
  sweepOpenLeases,
  takeDuePolls,
  takeWaitingReceipts,
  undeliverable,
  unresolvedRows,
  wakePolls,
  wakeSpread,
} from '../../src/ledger/index.ts';
import { claimRequest, markRequest, outcomeOf } from '../ledger/on-the-way.ts';
import { CODE_TEMPLATE, type Scene } from '../ledger/scene.ts';
import { burst, history } from './big-ledger.ts';
import { type Catalogue, catalogue, Explainer, faults, indexesUsed } from './explain.ts';

interface Ledger {
  readonly pool: pg.Pool;
  readonly scene: Scene;
  readonly facts: Catalogue;
  readonly serverVersion: number;
}

/** Built once for the file; the statistics are renewed half-way, by the first test of the second half. */
const test = base.extend('ledger', { scope: 'file' }, async ({ database: { pool } }): Promise<Ledger> => {
  const s = await history(pool);
  await burst(pool, s);
  const [version] = await rowsOf<{ n: number }>(pool, `select current_setting('server_version_num')::int as n`);
  return { pool, scene: s, facts: await catalogue(pool), serverVersion: version?.n ?? 0 };
});

const ref = (row: { id: string; created_at: Date }): RowRef => ({ id: row.id, createdAt: row.created_at });

/** Picks rows for a statement to work on, without being part of what is explained. */
const pick = async (l: Ledger, from: string, limit = 50) =>
  (
    await rowsOf<{ id: string; created_at: Date }>(
      l.pool,
      `select id, created_at from sendledger.${from} limit ${limit}`,
    )
  ).map(ref);

interface Case {
  readonly does: (sql: Explainer, l: Ledger) => Promise<unknown>;
  readonly uses: readonly string[];
  /** Indexes this may read from end to end: they are short, or a LIMIT ends the reading. */
  readonly wholeIndex?: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  'the claim picks due rows': {
    does: (sql, l) => sql.query(PICK_DUE, [l.scene.routeId, 'transactional', 500, 20_000, true, '-infinity', '0']),
    uses: ['outbound_message_claim'],
  },
  'who waits in a lane, and a fair pick among them': {
    does: async (sql, l) => {
      const lane = { routeId: l.scene.routeId, messageClass: 'transactional' } as const;
      const turns = sharesOf(await tenantsWaiting(sql, lane), 500);
      expect(turns.length).toBeGreaterThan(50);
      await sql.query(PICK_FAIR, [
        l.scene.routeId,
        'transactional',
        500,
        20_000,
        true,
        turns.map((t) => t.tenantId),
        turns.map((t) => t.share),
        turns.map(() => '-infinity'),
        turns.map(() => '0'),
      ]);
    },
    uses: ['outbound_message_fair'],
  },
  'the claim, from the gate to the rows it writes': {
    does: async (sql, l) => {
      await sql.query('update sendledger.route set max_open_submissions = 10000');
      // Shares of many tenants are whole numbers, so a claim is a little smaller than its limit.
      expect((await claim(sql.asPool(), claimRequest(l.scene, 'transactional', 500))).rows).toBeGreaterThan(450);
    },
    uses: ['outbound_message_fair', 'outbound_message_pkey', 'submission_open'],
  },
  'the claim picks due rows behind those it knows': {
    does: (sql, l) =>
      sql.query(PICK_DUE, [l.scene.routeId, 'transactional', 500, 20_000, true, new Date('2020-01-01T00:00:00Z'), '7']),
    uses: ['outbound_message_claim'],
  },
  'lanes with work': {
    does: (sql) => lanesWithWork(sql, 'transactional'),
    uses: ['outbound_message_claim'],
  },
  'what can be sent another way': {
    does: (sql) => undeliverable(sql, 100),
    uses: ['outbound_message_fallback'],
  },
  'wall clocks whose zone has other rules': {
    does: (sql) => followZoneRules(sql, 1_000),
    uses: ['outbound_message_zoned'],
  },
  'lanes with open submissions': {
    does: (sql) => lanesWithOpenSubmissions(sql, 'transactional'),
    uses: ['submission_open'],
  },
  'the mark, and the rows it returns': {
    does: async (sql, l) => {
      await sql.query('update sendledger.route set max_in_flight_requests = 1000');
      const marks = await markNextIn(sql, markRequest(l.scene, 'transactional', 50));
      expect(marks).toHaveLength(50);
    },
    uses: ['submission_open', 'submission_marked', 'submission_pkey', 'outbound_message_submission'],
  },
  'outcomes of all kinds': {
    does: async (sql, l) => {
      await sql.query('update sendledger.route set max_in_flight_requests = 1000');
      const marks = await markNextIn(sql, markRequest(l.scene, 'transactional', 40));
      const kinds = ['accepted', 'refused', 'not_sent', 'ambiguous'] as const;
      const outcomes = marks.map((m, i) => outcomeOf(m, kinds[i % 4] ?? 'accepted'));
      expect(await applyOutcomes(sql, outcomes)).toMatchObject({ rows: 400 });
    },
    uses: ['submission_pkey', 'outbound_message_submission'],
  },
  'late replies': {
    does: async (sql, l) => {
      const lost = await rowsOf<{
        id: string;
        created_at: Date;
        lease_token: string;
        rows: { id: string; at: string }[];
      }>(
        l.pool,
        `select s.id, s.created_at, s.lease_token, json_agg(json_build_object('id', m.id::text, 'at', m.created_at)) as rows
         from sendledger.submission s join sendledger.outbound_message m on m.submission_id = s.id
         where s.state = 'ambiguous' and s.id > 30000 group by s.id, s.created_at, s.lease_token limit 20`,
      );
      const outcomes = lost.map((s, i): SubmissionOutcome => {
        const state = i % 2 === 0 ? 'accepted' : 'refused';
        return {
          ...ref(s),
          leaseToken: s.lease_token,
          state,
          reason: state,
          proof: null,
          providerTxnId: null,
          statusCode: null,
          httpStatus: 200,
          rawReply: null,
          pollInMs: null,
          rows: s.rows.map(({ id, at }) => ({
            id,
            createdAt: new Date(at),
            to: state === 'accepted' ? 'submitted' : 'rejected',
            reason: state,
            cause: null,
            countsAsAttempt: true,
            retryInMs: null,
          })),
        };
      });
      expect(await applyOutcomes(sql, outcomes)).toMatchObject({ late: 100 });
    },
    uses: ['submission_pkey', 'outbound_message_submission'],
  },
  'a release': {
    does: async (sql, l) => {
      expect(await release(sql, await pick(l, `submission where state = 'open'`))).toEqual({
        submissions: 50,
        rows: 500,
      });
    },
    uses: ['submission_pkey', 'outbound_message_submission'],
  },
  'a release on shutdown': {
    does: (sql, l) => releaseClaimedBy(sql, l.scene.worker.id, 50),
    uses: ['submission_open', 'submission_pkey', 'outbound_message_submission'],
    wholeIndex: ['submission_open'],
  },
  'a cancellation': {
    does: async (sql, l) => {
      for (const message of await pick(l, `outbound_message where state = 'claimed'`, 1))
        await cancelOnce(sql, message);
    },
    uses: ['outbound_message_pkey', 'submission_pkey'],
  },
  'the sweep of leases before the mark': {
    does: (sql) => sweepOpenLeases(sql, 100),
    uses: ['submission_open'],
    wholeIndex: ['submission_open'],
  },
  'the sweep of leases after the mark': {
    does: async (sql) => {
      await sql.query('set local session_replication_role = replica');
      await sql.query(`update sendledger.submission set lease_until = now() - interval '1 s' where state = 'marked'`);
      await sql.query('set local session_replication_role = origin');
      expect(await sweepMarkedLeases(sql, 100)).toMatchObject({ submissions: 100, rows: 1000 });
    },
    uses: ['submission_marked', 'submission_pkey', 'outbound_message_submission'],
    wholeIndex: ['submission_marked'],
  },
  'the expiry of what was not submitted': {
    does: async (sql) => expect(await expireUnsubmitted(sql, 100)).toBe(100),
    uses: ['outbound_message_submit_by', 'outbound_message_pkey'],
  },
  'the expiry of what has no receipt': {
    does: async (sql, l) => {
      const submissions = await pick(l, `submission where state = 'accepted' and id > 39000`);
      await expireUnconfirmed(
        sql,
        submissions.map((s) => s.id),
      );
    },
    uses: ['outbound_message_submission'],
  },
  'the polls that are due': {
    does: (sql) =>
      takeDuePolls(sql, { limit: 50, firstMs: 1000, longestMs: 60_000, accounts: ['smsgatewaycenter/default'] }),
    uses: ['submission_poll', 'submission_pkey'],
  },
  'the end of polling': {
    does: async (sql, l) => endPolls(sql, await pick(l, 'submission where poll_at is not null')),
    uses: ['submission_pkey', 'outbound_message_submission'],
  },
  'receipts: recorded, matched by id and by transaction, applied': {
    does: async (sql, l) => {
      const rows = await rowsOf<{
        provider_txn_id: string;
        provider_message_id: string;
        recipient: string;
        known: boolean;
      }>(
        l.pool,
        `select m.provider_txn_id, m.provider_message_id, m.recipient, false as known
         from sendledger.outbound_message m where m.state in ('submitted', 'delivered') and m.submission_id > 39500 limit 60`,
      );
      const origin = {
        routeId: l.scene.routeId,
        provider: 'smsgatewaycenter',
        account: 'default',
        source: 'poll' as const,
      };
      const { hashes } = await recordReceipts(
        sql,
        origin,
        rows.map((row, i) => ({
          providerTxnId: row.provider_txn_id,
          // Half of them are known by their id, half are met for the first time.
          providerMessageId: i % 2 === 0 ? row.provider_message_id : null,
          recipient: row.recipient,
          senderId: 'SHOP',
          statusWord: 'DELIVERED',
          status: 'delivered' as const,
          cause: null,
          causeClass: null,
          submittedAt: null,
          deliveredAt: new Date(),
          evidence: {},
        })),
      );
      const applied = await applyReceipts(sql, origin, hashes);
      expect(applied.delivered).toBeGreaterThan(15);
      expect(applied.waiting).toBe(0);
    },
    uses: [
      'delivery_receipt_pkey',
      'outbound_message_pkey',
      'outbound_message_recipient',
      'outbound_message_submission',
      'provider_message_pkey',
      'submission_txn',
    ],
  },
  'the rows under submissions that are to be resolved': {
    does: async (sql, l) => {
      const found = await unresolvedRows(sql, await pick(l, `submission where state = 'ambiguous' and id > 30000`, 20));
      expect(found).toHaveLength(100);
    },
    uses: ['submission_pkey', 'outbound_message_submission'],
  },
  'every requested row of some recipients': {
    does: async (sql, l) => {
      const [row] = await rowsOf<{ recipient: string; at: Date }>(
        l.pool,
        `select recipient, requested_at as at from sendledger.outbound_message where state = 'unknown' and submission_id > 39000 limit 1`,
      );
      const at = row?.at.getTime() ?? 0;
      const found = await requestedMessages(
        sql,
        { provider: 'smsgatewaycenter', account: 'default' },
        [row?.recipient ?? ''],
        new Date(at - 86_400_000),
        new Date(at + 86_400_000),
      );
      expect(found.length).toBeGreaterThan(0);
    },
    uses: ['outbound_message_recipient', 'submission_pkey'],
  },
  'what is known to be accepted around a request': {
    does: async (sql, l) => {
      const [row] = await rowsOf<{ at: Date }>(
        l.pool,
        `select requested_at as at from sendledger.outbound_message where submission_id = 20000 limit 1`,
      );
      const at = row?.at.getTime() ?? 0;
      await knownAccepted(
        sql,
        { provider: 'smsgatewaycenter', account: 'default' },
        new Date(at - 3_600_000),
        new Date(at + 3_600_000),
      );
    },
    uses: ['outbound_message_created'],
  },
  'whose ids of the provider these are': {
    does: (sql) =>
      ownedIds(
        sql,
        { provider: 'smsgatewaycenter', account: 'default' },
        { messageIds: ['pm-39999-1', 'pm-39999-2', 'stranger'], txnIds: ['txn-39999', 'stranger'] },
      ),
    uses: ['provider_message_pkey', 'submission_txn'],
  },
  'unknown rows are settled as sent': {
    does: async (sql, l) => {
      const rows = await pick(l, `outbound_message where state = 'unknown' and submission_id > 30000`, 50);
      const how = { reason: 'receipt', costSource: 'quote', correlation: 'matched', windowMs: null } as const;
      expect(await settleAsSent(sql, rows, how)).toHaveLength(50);
    },
    uses: ['outbound_message_pkey', 'submission_pkey'],
  },
  'unknown rows are settled as not sent': {
    does: async (sql, l) => {
      const rows = await pick(l, `outbound_message where state = 'unknown' and submission_id > 30000`, 50);
      const how = { reason: 'x', proof: 'x', proven: true, correlation: 'not_found', windowMs: 1 } as const;
      expect((await settleAsNotSent(sql, rows, how)).moved).toHaveLength(50);
    },
    uses: ['outbound_message_pkey', 'outbound_message_submission', 'submission_pkey'],
  },
  'a correlation is noted': {
    does: async (sql, l) =>
      noteCorrelation(
        sql,
        await pick(l, `outbound_message where state = 'unknown' and submission_id > 30000`, 50),
        'not_found',
        720_000,
      ),
    uses: ['outbound_message_pkey'],
  },
  'a hint wakes a poll, and an outage all that are awaited': {
    does: async (sql, l) => {
      await wakePolls(sql, await pick(l, 'submission where poll_at is not null', 20));
      await wakeSpread(sql.asPool(), ['smsgatewaycenter/default'], new Date());
    },
    uses: ['submission_poll', 'submission_pkey'],
  },
  'receipts that wait are looked at again, and postponed': {
    does: async (sql) => {
      const waiting = await takeWaitingReceipts(sql, 100, ['smsgatewaycenter/default']);
      expect(waiting).toHaveLength(100);
      const [first] = waiting;
      if (first === undefined) return;
      expect(
        await applyReceipts(
          sql,
          first.origin,
          waiting.map((w) => w.hash),
        ),
      ).toMatchObject({ waiting: 100 });
    },
    uses: ['delivery_receipt_waiting', 'delivery_receipt_pkey'],
  },
  'the gauges': {
    does: (sql) => classGauges(sql),
    // Not named: the index that finds the last hour. On the first of a month that hour is most of the partition.
    uses: ['outbound_message_claim'],
  },
  'stray rows': { does: (sql) => strayRows(sql), uses: [] },
  'unresolved rows, by the time of their request': {
    does: (sql) =>
      sql.query(
        `select m.id, m.created_at from sendledger.outbound_message m
         where m.state = 'unknown' and m.requested_at >= $1 and m.requested_at < $2 order by m.requested_at limit 100`,
        [new Date(Date.now() - 40 * 86_400_000), new Date()],
      ),
    uses: ['outbound_message_unresolved'],
  },
  'correlation, by recipient, sender and window': {
    does: (sql) =>
      sql.query(
        `select m.id, m.created_at, m.state from sendledger.outbound_message m
         where m.recipient = $1 and m.sender_id = $2 and m.requested_at >= $3 and m.requested_at < $4
           and m.provider_txn_id is null and m.state in ('unknown', 'submitted')`,
        ['919000000123', 'SHOP', new Date(Date.now() - 86_400_000), new Date()],
      ),
    uses: ['outbound_message_correlate'],
  },
  "a recipient's history": {
    does: (sql) =>
      sql.query(
        `select m.id, m.created_at, m.state from sendledger.outbound_message m
         where m.recipient = any ($1::text[]) and m.created_at >= $2 and m.created_at < $3`,
        [['919000000123', '919000000124'], new Date(Date.now() - 3 * 86_400_000), new Date()],
      ),
    uses: ['outbound_message_recipient'],
  },
};

async function explain(l: Ledger, one: Case) {
  const client = await l.pool.connect();
  try {
    await client.query('begin');
    const explainer = new Explainer(client, l.serverVersion);
    await one.does(explainer, l);
    return explainer.explained;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

for (const statistics of ['from before the burst', 'fresh'] as const)
  describe(`with statistics that are ${statistics}, by index and without reading what it does not need`, () => {
    if (statistics === 'fresh')
      test('the statistics are renewed', async ({ ledger }) => {
        await ledger.pool.query('analyze');
        expect(await rowsOf(ledger.pool, `select count(*) > 200000 as big from sendledger.outbound_message`)).toEqual([
          { big: true },
        ]);
      });

    for (const [what, one] of Object.entries(CASES))
      test(what, async ({ ledger }) => {
        const explained = await explain(ledger, one);
        expect(explained.length).toBeGreaterThan(0);
        expect(faults(explained, ledger.facts, one.wholeIndex ?? [])).toEqual([]);
        expect(indexesUsed(explained, ledger.facts)).toEqual(expect.arrayContaining([...one.uses]));
      });
  });

/** What EXPLAIN does not show, the counters of the transaction do: statements inside of functions and triggers. */
test('enqueue, and the guard behind a claim: no large partition is read from end to end', async ({ ledger }) => {
  const client = await ledger.pool.connect();
  try {
    await client.query('begin');
    await client.query('set local plan_cache_mode = force_generic_plan');
    // What the session did before may still be pending in its counters.
    const before = await readSequentially(client);
    const messages = Array.from({ length: 200 }, (_, i) => ({
      tenant_id: 'shop',
      channel: 'sms',
      message_class: 'otp',
      ...CODE_TEMPLATE,
      recipient: `9190000${String(i).padStart(5, '0')}`,
      event_type: 'login',
      event_id: `plan-${i % 150}`,
      // Fifty of them are there already, as duplicates and as conflicts.
      body: i < 175 ? 'a code' : 'another code',
      encoding: 'GSM7',
      segments: '1',
      route: ledger.scene.name,
    }));
    const again = messages.slice(0, 50).map((m, i) => ({ ...m, recipient: messages[i + 150]?.recipient }));
    const answers = await rowsOf<{ answer: string }>(client, 'select answer from sendledger.enqueue($1::json)', [
      JSON.stringify([...messages, ...messages.slice(150), ...again]),
    ]);
    expect(new Set(answers.map((a) => a.answer))).toContain('duplicate');
    const pool = new Explainer(client, ledger.serverVersion).asPool();
    expect(await claim(pool, claimRequest(ledger.scene, 'otp', 150))).toMatchObject({ rows: 150 });
    const after = await readSequentially(client);
    expect([...after].filter(([table, rows]) => rows - (before.get(table) ?? 0) > 1_000)).toEqual([]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

/** Inside of functions too: what is read of closed months would show in the counters. */
describe('a cancellation, its answer and its preview read what they cover, and no history', () => {
  const targets: Readonly<Record<string, { target: CancelTarget; tenantId: string; covers: number; reads: number }>> = {
    'by message': { target: { kind: 'message', messageId: '' }, tenantId: 'big', covers: 1, reads: 200 },
    'by key': { target: { kind: 'key', businessKey: 'waiting-10' }, tenantId: 'big', covers: 1, reads: 200 },
    'by event': {
      target: { kind: 'event', eventType: 'order', eventId: 'e' },
      tenantId: 'big',
      covers: 10_000,
      reads: 100_000,
    },
    'by campaign': { target: { kind: 'campaign', campaignId: 'spring' }, tenantId: 'big', covers: 500, reads: 10_000 },
    // What waits of all tenants is read, a few times over.
    'of a tenant': { target: { kind: 'tenant' }, tenantId: 't7', covers: 20, reads: 150_000 },
  };
  for (const [what, { target, tenantId, covers, reads }] of Object.entries(targets))
    test(what, async ({ ledger }) => {
      const client = await ledger.pool.connect();
      try {
        await client.query('begin; set local plan_cache_mode = force_generic_plan');
        // Every key of the ledger, as enqueue writes it; nothing is known of them to the planner.
        await client.query(
          `insert into sendledger.message_key (tenant_id, business_key, message_id, message_created_at, content_hash, event_id, campaign_id)
           select m.tenant_id, m.business_key, m.id, m.created_at, '\\x00', m.event_id, case when m.id % 20 = 0 and m.state in ('pending', 'retry') then 'spring' end
           from sendledger.outbound_message m on conflict do nothing`,
        );
        const [row] = await rowsOf<{ id: string }>(
          client,
          `select id from sendledger.outbound_message where tenant_id = 'big' and state = 'pending' limit 1`,
        );
        const wanted = target.kind === 'message' ? { ...target, messageId: row?.id ?? '' } : target;
        const before = await rowsRead(client);
        const preview = await previewCancellation(client, tenantId, wanted);
        const own: OwnTransaction = (work) => work(client);
        const report = await cancelCovered(own, { tenantId, target: wanted, by: 'test', why: 'test' }, { list: 5 });
        const after = await rowsRead(client);
        expect(preview.cancelled).toBeGreaterThanOrEqual(covers / 2);
        expect(report.counts.cancelled).toBeGreaterThanOrEqual(covers / 2);
        const read = [...after].map(([table, n]) => [table, n - (before.get(table) ?? 0)] as const);
        const messages = read
          .filter(([table]) => table.startsWith('outbound_message'))
          .reduce((sum, [, n]) => sum + n, 0);
        expect(messages).toBeLessThan(reads);
      } finally {
        await client.query('rollback');
        client.release();
      }
    });

  async function rowsRead(client: pg.PoolClient): Promise<Map<string, number>> {
    const rows = await rowsOf<{ relname: string; rows: number }>(
      client,
      `select t.relname, (t.seq_tup_read + coalesce(t.idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables t where t.schemaname = 'sendledger'`,
    );
    return new Map(rows.map((row) => [row.relname, row.rows]));
  }
});

async function readSequentially(client: pg.PoolClient): Promise<Map<string, number>> {
  const rows = await rowsOf<{ relname: string; rows: number }>(
    client,
    `select t.relname, t.seq_tup_read::int as rows from pg_stat_xact_user_tables t where t.schemaname = 'sendledger'`,
  );
  return new Map(rows.map((row) => [row.relname, row.rows]));
}

test('no planner switch is set where this is judged', async ({ ledger }) => {
  expect(
    await rowsOf(ledger.pool, `select name from pg_settings where name like 'enable\\_%' and setting <> boot_val`),
  ).toEqual([]);
});
