import { randomUUID } from 'node:crypto';
import { test as base } from '@sendledger/local/fixtures';
import pg from 'pg';
import { describe, expect } from 'vitest';
import {
  type AuditResult,
  applyOutcomes,
  auditAcceptedWithoutId,
  auditLiveDuplicates,
  auditNoFinalState,
  auditPastLease,
  auditSchedules,
  auditStates,
  claim,
  compareEvents,
  countEvents,
  durably,
  eventsFunction,
  finishAudit,
  hoursToAudit,
  openDifferences,
  openReview,
  resolveReview,
  rowsOf,
  type Sql,
  sweepOpenLeases,
  takeAudit,
} from '../../src/ledger/index.ts';
import { type Columns, importMessage, importSubmission } from '../schema/rows.ts';
import { claimRequest, endLease, marked, only, outcomeOf } from './on-the-way.ts';
import { enqueue, type Scene, scene } from './scene.ts';

/** A database of its own for each test, and sessions of the role that audits: what is granted is all there is. */
const test = base.extend('reconcile', async ({ freshDatabase }, { onCleanup }) => {
  const pool = new pg.Pool({ connectionString: freshDatabase.urlFor('sendledger_reconcile'), max: 4 });
  onCleanup(() => pool.end());
  return pool;
});

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const HOUR = 60;
const DAY = 24 * HOUR;

const items = (pool: pg.Pool) =>
  rowsOf<Record<string, unknown>>(
    pool,
    `select v.kind, v.subject, v.route_id, v.message_id, v.submission_id, v.resolution from sendledger.review_item v order by v.id`,
  );

const NOTHING: AuditResult = { findings: 0, opened: 0 };

/** Two runs, and two processes at once: what is found is found each time, and asked once. */
async function asksOnce(pool: pg.Pool, audit: (sql: Sql) => Promise<AuditResult>, findings: number, opened = findings) {
  const both = await Promise.all([durably(pool, audit), durably(pool, audit)]);
  expect(both.map((run) => run.findings)).toEqual([findings, findings]);
  expect(both.reduce((sum, run) => sum + run.opened, 0)).toBe(opened);
  expect(await durably(pool, audit)).toEqual({ findings, opened: 0 });
}

/** A message of a request that a provider accepted. */
async function sent(pool: pg.Pool, s: Scene, columns: Columns, txn: string | null = 'txn-1') {
  const submission = await importSubmission(pool, 'accepted', s.routeId, {
    columns: {
      provider_txn_id: txn,
      responded_at: new Date(),
      outcome_reason: txn === null ? 'accepted_without_id' : 'accepted',
    },
  });
  return importMessage(pool, 'submitted', s.routeId, submission, {
    provider_txn_id: txn,
    requested_at: new Date(),
    ...columns,
  });
}

describe('past_lease', () => {
  const audit = (sql: Sql) => auditPastLease(sql, 100);

  test('one item a route, however many are stuck; closed when it is clear, and asked again when it happens again', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const [s, other] = [await scene(pool, { maxBatch: 1 }), await scene(pool)];
    await enqueue(pool, [{ route: s.name }, { route: s.name }, { route: other.name }]);
    await claim(pool, claimRequest(s));
    const [onTheWire] = await marked(pool, s, [{}]);
    await marked(pool, other);
    expect(await durably(reconcile, audit)).toEqual(NOTHING);

    const past = (by: string) =>
      pool.query(`set session_replication_role = replica; update sendledger.submission set lease_until = now() - interval '${by}'
        where route_id = ${s.routeId}; set session_replication_role = origin`);
    // Under a minute: the sweep has had no time.
    await past('50 s');
    expect(await durably(reconcile, audit)).toEqual(NOTHING);
    await past('70 s');
    // The route, and not each of its submissions.
    await asksOnce(reconcile, audit, 3, 1);
    expect(await items(pool)).toEqual([
      {
        kind: 'past_lease',
        subject: `route ${s.routeId}`,
        route_id: s.routeId,
        message_id: null,
        submission_id: null,
        resolution: null,
      },
    ]);

    // Somebody sweeps again.
    await endLease(pool, onTheWire ?? { id: '' });
    await pool.query(
      `update sendledger.submission set state = 'ambiguous', responded_at = now(), outcome_reason = 'x' where route_id = $1 and state = 'marked'`,
      [s.routeId],
    );
    await durably(pool, (sql) => sweepOpenLeases(sql, 10));
    expect(await durably(reconcile, audit)).toEqual(NOTHING);
    expect(await items(pool)).toMatchObject([{ resolution: 'no_longer_found' }]);
    await enqueue(pool, [{ route: s.name }]);
    await claim(pool, claimRequest(s));
    await pool.query(`set session_replication_role = replica; update sendledger.submission set lease_until = now() - interval '70 s'
      where route_id = ${s.routeId} and state = 'open'; set session_replication_role = origin`);
    expect(await durably(reconcile, audit)).toMatchObject({ opened: 1 });
  });
});

describe('accepted_without_id', () => {
  test('an hour after, of providers that give ids, and not what a person called sent', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const s = await scene(pool);
    const audit = (sql: Sql) => auditAcceptedWithoutId(sql, 100);
    await sent(pool, s, { submitted_at: ago(2 * HOUR) }, 'txn-9');
    await sent(pool, s, { submitted_at: ago(59) }, null);
    const said = await importSubmission(pool, 'accepted', s.routeId, {
      columns: { outcome_reason: 'review_sent', responded_at: new Date() },
    });
    await importMessage(pool, 'submitted', s.routeId, said, { submitted_at: ago(2 * HOUR) });
    expect(await durably(reconcile, audit)).toEqual(NOTHING);

    const found = await sent(pool, s, { submitted_at: ago(61), created_at: ago(62) }, null);
    await asksOnce(reconcile, audit, 1);
    const [row] = await rowsOf<{ submission_id: string }>(
      pool,
      'select submission_id from sendledger.outbound_message where id = $1',
      [found.id],
    );
    expect(await items(pool)).toMatchObject([
      {
        kind: 'accepted_without_id',
        subject: `submission ${row?.submission_id}`,
        route_id: s.routeId,
        submission_id: row?.submission_id,
      },
    ]);
    expect(await durably(reconcile, (sql) => auditAcceptedWithoutId(sql, 100, ['smsgatewaycenter']))).toEqual(NOTHING);
  });
});

describe('no_final_state', () => {
  const audit = (sql: Sql) => auditNoFinalState(sql, 100);

  test('submitted past its window, and unknown for a day; closed when it is final', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const s = await scene(pool);
    const unknown = (columns: Columns) =>
      importSubmission(pool, 'ambiguous', s.routeId, {
        columns: { responded_at: new Date(), outcome_reason: 'timeout' },
      }).then((submission) => importMessage(pool, 'unknown', s.routeId, submission, columns));
    await sent(pool, s, { receipt_by: ago(59) });
    await unknown({ requested_at: ago(DAY - 1) });
    await importMessage(pool, 'expired', s.routeId, null, { receipt_by: ago(2 * DAY), submission_id: null });
    expect(await durably(reconcile, audit)).toEqual(NOTHING);

    const late = await sent(pool, s, { receipt_by: ago(61) });
    const old = await unknown({ requested_at: ago(DAY + 1) });
    const undated = await unknown({ created_at: ago(DAY + 2) });
    await asksOnce(reconcile, audit, 3);
    expect((await items(pool)).map((item) => [item.kind, item.message_id])).toEqual([
      ['no_final_state', undated.id],
      ['no_final_state', old.id],
      ['no_final_state', late.id],
    ]);

    await pool.query(`update sendledger.outbound_message set state = 'expired' where id = $1`, [late.id]);
    expect(await durably(reconcile, audit)).toEqual({ findings: 2, opened: 0 });
    expect((await items(pool)).map((item) => item.resolution)).toEqual([null, null, 'no_longer_found']);
  });

  test('what a person decided is counted and not asked again, and what another question is about neither', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const s = await scene(pool);
    const [decided, asked] = [
      await sent(pool, s, { receipt_by: ago(2 * HOUR) }),
      await sent(pool, s, { receipt_by: ago(2 * HOUR) }),
    ];
    await openReview(pool, {
      kind: 'several_fit',
      subject: 'x',
      message: { id: asked.id, createdAt: asked.created_at },
      evidence: {},
    });
    await asksOnce(reconcile, audit, 2, 1);
    const [item] = await rowsOf<{ id: string }>(pool, 'select id from sendledger.review_item where message_id = $1', [
      decided.id,
    ]);
    await durably(pool, (sql) => resolveReview(sql, { id: item?.id ?? '', as: 'leave', by: 'asha', why: 'known' }));
    expect(await durably(reconcile, audit)).toEqual({ findings: 2, opened: 0 });
  });

  test('a bounded number of items a run, the oldest first, and the whole count', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const s = await scene(pool);
    for (let i = 1; i <= 5; i++) await sent(pool, s, { receipt_by: ago(HOUR + i) });
    const few = (sql: Sql) => auditNoFinalState(sql, 2);
    for (const opened of [2, 2, 1, 0]) expect(await durably(reconcile, few)).toEqual({ findings: 5, opened });
    expect(new Set((await items(pool)).map((item) => item.message_id)).size).toBe(5);
  });
});

describe('live_duplicates', () => {
  const audit = (sql: Sql) => auditLiveDuplicates(sql, 100);

  test('several live rows on one key, whatever their states; a final one beside a live one is none', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const s = await scene(pool);
    await enqueue(pool, [{ route: s.name }, { route: s.name, event: 'e', recipient: '919000000001' }]);
    const m = only(await marked(pool, s, []).then((all) => all.slice(0, 1)));
    await durably(pool, (sql) => applyOutcomes(sql, [outcomeOf(m, 'ambiguous')]));
    const key = randomUUID();
    await importMessage(pool, 'failed', s.routeId, null, { business_key: key });
    await sent(pool, s, { business_key: key });
    // The same key of another tenant is another message.
    await importMessage(pool, 'pending', s.routeId, null, { business_key: key, tenant_id: 'another' });
    await importMessage(pool, 'pending', s.routeId, null, { business_key: key, created_at: ago(9 * DAY) });
    expect(await durably(reconcile, audit)).toEqual(NOTHING);

    const second = await importMessage(pool, 'pending', s.routeId, null, { business_key: key });
    await sent(pool, s, { business_key: key });
    const [unknown] = m.rows;
    const [of] = await rowsOf<{ business_key: string }>(
      pool,
      'select business_key from sendledger.outbound_message where id = $1',
      [unknown?.id],
    );
    await importMessage(pool, 'pending', s.routeId, null, { business_key: of?.business_key });
    await asksOnce(reconcile, audit, 2);
    const [first] = await rowsOf<{ subject: string; rows: { id: string; state: string }[] }>(
      pool,
      `select subject, evidence->'rows' as rows from sendledger.review_item where subject like '%' || $1`,
      [key],
    );
    expect(first?.subject).toBe(`tenant shop key ${key}`);
    expect(first?.rows.map((row) => row.state).sort()).toEqual(['pending', 'submitted', 'submitted']);
    expect(first?.rows.map((row) => row.id)).toContain(second.id);
  });
});

describe('events_without_messages', () => {
  test('the name of the function is two identifiers and nothing else', () => {
    expect(eventsFunction('app.message_events')).toBe('"app"."message_events"');
    for (const name of [
      '',
      'events',
      'a.b.c',
      'app.f()',
      'app.f; drop table x',
      'App.f',
      '"app".f',
      ' app.f',
      'app.1f',
    ])
      expect(() => eventsFunction(name)).toThrow(/SENDLEDGER_CONFIG/);
  });

  /** An application that knows of these events of the last hour that is over. */
  async function application(pool: pg.Pool, rows: string) {
    await pool.query(`create schema if not exists app;
      create or replace function app.events(timestamptz, timestamptz) returns table (event_type text, count bigint)
        language sql stable as $$ ${rows} $$;
      grant usage on schema app to sendledger_reconcile; grant execute on function app.events(timestamptz, timestamptz) to sendledger_reconcile`);
  }

  const run = async (pool: pg.Pool) => {
    let found = 0;
    for (const hour of await hoursToAudit(pool)) {
      const events = await durably(pool, (sql) => countEvents(sql, eventsFunction('app.events'), hour));
      found += (await durably(pool, (sql) => compareEvents(sql, hour, events, 100))).findings;
    }
    return found;
  };

  test('counts of events and of events with a message, by type and hour; each hour once, a missed one is caught up', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const s = await scene(pool);
    const hours = await hoursToAudit(pool);
    expect(hours).toHaveLength(24);
    const last = hours.at(-1);
    if (last === undefined) throw new Error('no hour');
    expect(last.to.getTime()).toBeLessThanOrEqual(Date.now() - 600_000);
    expect(last.to.getTime()).toBeGreaterThan(Date.now() - 4_200_000);
    const within = (columns: Columns) =>
      importMessage(pool, 'pending', s.routeId, null, { created_at: new Date(last.from.getTime() + 1000), ...columns });
    await within({ event_type: 'order', event_id: '1' });
    // Two recipients of one event, and a second attempt, are one event.
    await within({ event_type: 'order', event_id: '1' });
    const [first] = [await within({ event_type: 'order', event_id: '2' })];
    await within({ event_type: 'order', event_id: '3', replaces_id: first.id, replaces_created_at: first.created_at });
    await within({ event_type: 'order', event_id: '9', created_at: last.to });
    const when = `$1 = '${last.from.toISOString()}'`;
    await application(pool, `select 'order', 2::bigint where ${when}`);
    expect(await run(reconcile)).toBe(0);
    expect(await hoursToAudit(reconcile)).toEqual([]);

    // As if it had not run for an hour, and an event had been missed, one type had none, and one were ours alone.
    const missed = () =>
      pool.query(`update sendledger.audit set last_run_at = last_run_at - interval '1 hour' where name like 'events%'`);
    await missed();
    await application(pool, `select * from (values ('order', 3::bigint), ('refund', 1)) x where ${when}`);
    await within({ event_type: 'login', event_id: '1' });
    expect(await run(reconcile)).toBe(3);
    const at = last.from.toISOString();
    expect((await items(pool)).map((item) => [item.kind, item.subject])).toEqual(
      ['login', 'order', 'refund'].map((type) => ['event_count_differs', `${type} ${at}`]),
    );
    expect(await openDifferences(reconcile)).toBe(3);
    await missed();
    await Promise.all([run(reconcile), run(reconcile)]);
    expect(await items(pool)).toHaveLength(3);
  });

  test('the function can write nothing and take no longer than it may', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    await pool.query(`create schema app; create table app.log (at timestamptz); grant insert on app.log to sendledger_reconcile;
      create function app.events(timestamptz, timestamptz) returns table (event_type text, count bigint) language plpgsql as $$
      begin insert into app.log values (now()); return; end $$;
      grant usage on schema app to sendledger_reconcile`);
    const hour = { from: ago(HOUR), to: new Date() };
    await expect(durably(reconcile, (sql) => countEvents(sql, '"app"."events"', hour))).rejects.toMatchObject({
      code: '25006',
    });
  });
});

describe('schedules', () => {
  const ACCOUNT = 'smsgatewaycenter/default';

  test('held and not ours; ours and not held; and nothing otherwise', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const s = await scene(pool);
    const ahead = new Date(Date.now() + 2 * 3_600_000);
    await sent(pool, s, { scheduled_for: ahead }, '0071');
    // Too near to be held still; and of another account.
    await sent(pool, s, { scheduled_for: new Date(Date.now() + 240_000) }, '72');
    const other = await scene(pool);
    await pool.query(`update sendledger.route set account = 'other' where id = $1`, [other.routeId]);
    await sent(pool, other, { scheduled_for: ahead }, '73');
    const held = [{ providerTxnId: '0071', scheduledFor: ahead }];
    expect(await durably(reconcile, (sql) => auditSchedules(sql, ACCOUNT, held))).toEqual(NOTHING);

    // Ids are text: 71 is not 0071, and what another account holds is not this one's.
    const wrong = ['71', '73'].map((providerTxnId) => ({ providerTxnId, scheduledFor: null }));
    await asksOnce(reconcile, (sql) => auditSchedules(sql, ACCOUNT, wrong), 3);
    expect((await items(pool)).map((item) => [item.kind, item.subject])).toEqual([
      ['schedule_not_ours', `${ACCOUNT} 71`],
      ['schedule_not_ours', `${ACCOUNT} 73`],
      ['schedule_missing', expect.stringMatching(/^submission \d+$/)],
    ]);
  });

  test('an answer that could not be read whole makes nothing missing', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    await sent(pool, await scene(pool), { scheduled_for: new Date(Date.now() + 3_600_000) });
    const partly = { limit: 100, complete: false };
    expect(await durably(reconcile, (sql) => auditSchedules(sql, ACCOUNT, [], partly))).toEqual(NOTHING);
    expect(await durably(reconcile, (sql) => auditSchedules(sql, ACCOUNT, []))).toMatchObject({ findings: 1 });
  });
});

describe('a run', () => {
  test('is one over the fleet, and its result is there for all', async ({ freshDatabase: { pool }, reconcile }) => {
    const turns = await Promise.all(Array.from({ length: 8 }, () => takeAudit(reconcile, 'x', 60_000)));
    expect(turns.filter(Boolean)).toHaveLength(1);
    expect(await auditStates(reconcile)).toEqual([{ name: 'x', findings: 0, finishedSecondsAgo: null }]);
    await finishAudit(reconcile, 'x', 7_000_000_000);
    expect(await auditStates(reconcile)).toEqual([
      { name: 'x', findings: 2_147_483_647, finishedSecondsAgo: expect.any(Number) },
    ]);
    expect(await takeAudit(reconcile, 'x', 60_000)).toBe(false);
    await pool.query(`update sendledger.audit set last_run_at = now() - interval '1 min'`);
    expect(await takeAudit(reconcile, 'x', 60_000)).toBe(true);
  });
});
