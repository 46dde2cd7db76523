import { auditFigures, auditStates, rowsOf } from '@sendledger/core/ledger';
import type { Adapter, SchedulesAnswer } from '@sendledger/gateway';
import pg from 'pg';
import { describe, expect } from 'vitest';
// By path: this app has no dependency on the local servers.
import { test as base } from '../../../infra/local/src/fixtures.ts';
import { type AuditPolicy, auditsRound } from '../src/audits.ts';
import { accepted, aRoute, passTime } from './accepted-submission.ts';
import { contextOf } from './app-context.ts';
import { NOTHING_YET, recordedReads } from './recorded-reads.ts';

/** Sessions of the role of this app: what is granted is all it has. */
const test = base.extend('reconcile', async ({ freshDatabase }, { onCleanup }) => {
  const pool = new pg.Pool({ connectionString: freshDatabase.urlFor('sendledger_reconcile'), max: 6 });
  onCleanup(() => pool.end());
  return pool;
});

const HOLDS_NOTHING: SchedulesAnswer = { kind: 'schedules', schedules: [], unreadableRows: 0 };

/** One process that audits, and what it shows of it. */
async function aProcess(
  pool: pg.Pool,
  change: Partial<AuditPolicy> = {},
  held: () => SchedulesAnswer | Promise<SchedulesAnswer> = () => HOLDS_NOTHING,
) {
  const context = await contextOf(pool);
  let asked = 0;
  const adapter: Adapter = {
    ...recordedReads(() => NOTHING_YET),
    heldSchedules: async () => {
      asked += 1;
      return held();
    },
  };
  const round = auditsRound(context, new Map([['smsgatewaycenter/default', adapter]]), {
    intervalMs: 3_600_000,
    items: 100,
    eventsFunction: undefined,
    ...change,
  });
  return { round, asked: () => asked, shown: () => shown(pool) };
}

/** By audit, as ops exports it. */
async function shown(pool: pg.Pool) {
  const figures = auditFigures(await auditStates(pool));
  return {
    findings: Object.fromEntries(figures.map(({ audit, findings }) => [audit, findings])) as Record<string, number>,
    ages: Object.fromEntries(figures.map(({ audit, ageSeconds }) => [audit, ageSeconds])) as Record<string, number>,
  };
}

const nextRunIsDue = (pool: pg.Pool) =>
  pool.query(
    `update sendledger.audit set last_run_at = now() - interval '2 hours' where name not like 'events_without_messages:%'`,
  );

const items = (pool: pg.Pool) =>
  rowsOf<{ kind: string; subject: string; closed: boolean }>(
    pool,
    'select kind, subject, resolved_at is not null as closed from sendledger.review_item order by id',
  );

const ALWAYS = { past_lease: 0, accepted_without_id: 0, no_final_state: 0, live_duplicates: 0 };
const NONE = { ...ALWAYS, schedules: 0 };

describe('the audits', () => {
  test('show zero and never nothing, before the first run too', async ({ reconcile }) => {
    const one = await aProcess(reconcile);
    expect(await one.shown()).toEqual({
      findings: ALWAYS,
      ages: Object.fromEntries(Object.keys(ALWAYS).map((audit) => [audit, Number.POSITIVE_INFINITY])),
    });
    expect(await one.round()).toBe('none');
    const { findings, ages } = await one.shown();
    expect(findings).toEqual(NONE);
    for (const age of Object.values(ages)) expect(age).toBeLessThan(60);
  });

  test('run once over the fleet, whoever asks sees what was found; asked once over two runs', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const route = await aRoute(pool, 'default');
    await accepted(pool, route, 3, (i) => (i === 0 ? null : `txn-${i}`));
    await passTime(pool, route, 'over');
    await pool.query(`update sendledger.outbound_message set receipt_by = now() - interval '2 hours'`);
    const processes = await Promise.all([aProcess(reconcile), aProcess(reconcile), aProcess(reconcile)]);
    const found = { ...NONE, no_final_state: 3 };
    for (let run = 1; run <= 2; run++) {
      await Promise.all(processes.map((one) => one.round()));
      // Those that ran nothing read it with their next look.
      for (const one of processes) {
        await one.round();
        expect((await one.shown()).findings).toEqual(found);
      }
      expect(processes.reduce((sum, one) => sum + one.asked(), 0)).toBe(run);
      expect((await items(pool)).map((item) => item.kind)).toEqual(Array(3).fill('no_final_state'));
      await nextRunIsDue(pool);
    }
    await pool.query(`update sendledger.outbound_message set state = 'expired'`);
    await processes[0]?.round();
    expect((await processes[0]?.shown())?.findings).toEqual(NONE);
    expect((await items(pool)).every((item) => item.closed)).toBe(true);
  });

  test('one that fails holds up no other, and is made again after its interval', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    let answer: SchedulesAnswer = { kind: 'unavailable', detail: 'no connection' };
    const one = await aProcess(reconcile, {}, async () => {
      // Whoever asks a provider holds no transaction meanwhile.
      const open = `select 1 from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`;
      expect(await rowsOf(reconcile, open)).toEqual([]);
      return answer;
    });
    await one.round();
    expect((await one.shown()).ages).toMatchObject({ schedules: Number.POSITIVE_INFINITY });
    expect((await one.shown()).ages.past_lease).toBeLessThan(60);
    await one.round();
    expect(one.asked()).toBe(1);

    answer = {
      kind: 'schedules',
      schedules: [
        {
          providerTxnId: '0071',
          scheduledFor: null,
          statusWord: 'x',
          createdAt: null,
          updatedAt: null,
          state: 'waiting' as const,
          total: 1,
        },
      ],
      unreadableRows: 0,
    };
    for (let run = 0; run < 2; run++) {
      await nextRunIsDue(pool);
      await one.round();
      expect((await one.shown()).findings).toEqual({ ...NONE, schedules: 1 });
    }
    expect(await items(pool)).toMatchObject([{ kind: 'schedule_not_ours', subject: 'smsgatewaycenter/default 0071' }]);
  });
});

describe('events and messages', () => {
  const eventsFunction = 'app.events';

  test('an application that counts otherwise is asked about once; one that fails is a question and no crash', async ({
    freshDatabase: { pool },
    reconcile,
  }) => {
    const one = await aProcess(reconcile, { eventsFunction });
    await one.round();
    const differing = async () => (await one.shown()).findings.events_without_messages;
    // There is no such function yet.
    expect(await differing()).toBe(1);
    expect(await items(pool)).toMatchObject([
      { kind: 'events_function_failed', subject: '"app"."events"', closed: false },
    ]);

    await pool.query(`create schema app; create function app.events(timestamptz, timestamptz) returns table (event_type text, count bigint)
      language sql stable as $$ select 'order', 5::bigint where $1 = date_trunc('hour', now() - interval '3 hours', 'UTC') $$;
      grant usage on schema app to sendledger_reconcile`);
    await nextRunIsDue(pool);
    await one.round();
    expect(await differing()).toBe(1);
    expect(await items(pool)).toMatchObject([{ closed: true }, { kind: 'event_count_differs', closed: false }]);
    await nextRunIsDue(pool);
    await one.round();
    expect(await differing()).toBe(1);
    expect(await items(pool)).toHaveLength(2);
    await pool.query(
      `update sendledger.review_item set resolved_at = now(), resolved_by = 'asha', resolution = 'leave', note = 'known' where resolved_at is null`,
    );
    await nextRunIsDue(pool);
    await one.round();
    expect(await differing()).toBe(0);
    expect(await items(pool)).toHaveLength(2);
  });

  test('a name that is not two identifiers is refused at the start', async ({ reconcile }) => {
    await expect(aProcess(reconcile, { eventsFunction: 'app.f(); drop' })).rejects.toMatchObject({
      code: 'SENDLEDGER_CONFIG',
    });
  });
});
